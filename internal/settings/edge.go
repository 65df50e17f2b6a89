// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyEdge is the key of a YAML Edge.
const KeyEdge = "edge"

// EdgeKind is the kind of object that exposes a server.
type EdgeKind string

const (
	// EdgeAuto is a Route if the cluster has the API, else an HTTPRoute if it has that API and a Gateway is set, else an
	// Ingress.
	EdgeAuto EdgeKind = "Auto"
	// EdgeRoute is an OpenShift Route.
	EdgeRoute EdgeKind = "Route"
	// EdgeHTTPRoute is an HTTPRoute of the Gateway API.
	EdgeHTTPRoute EdgeKind = "HTTPRoute"
	// EdgeIngress is an Ingress.
	EdgeIngress EdgeKind = "Ingress"
	// EdgeNone means that servers cannot be exposed.
	EdgeNone EdgeKind = "None"
)

// EdgeKinds returns all values of EdgeKind.
func EdgeKinds() []EdgeKind {
	return []EdgeKind{EdgeAuto, EdgeRoute, EdgeHTTPRoute, EdgeIngress, EdgeNone}
}

// NamePlaceholder is replaced by the name of the custom resource in Edge.TLSSecretName.
const NamePlaceholder = "{name}"

// Edge configures how servers are exposed outside the cluster. The zero value is the default.
type Edge struct {
	// Kind is the kind of object; empty means EdgeAuto.
	Kind EdgeKind `json:"kind,omitempty"`
	// Domain is the domain of default host names, <name>-<namespace>.<domain>; empty means no default.
	Domain string `json:"domain,omitempty"`
	// Gateway is the parent of HTTPRoutes; nil if unset.
	Gateway *Gateway `json:"gateway,omitempty"`
	// IngressClassName is the class of Ingresses; empty means the cluster's default.
	IngressClassName string `json:"ingressClassName,omitempty"`
	// TLSSecretName is the TLS Secret of an Ingress in the custom resource's namespace, with NamePlaceholder; empty means
	// HTTP.
	TLSSecretName string `json:"tlsSecretName,omitempty"`
	// Annotations are set on the Route, HTTPRoute or Ingress.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Namespaces are those of the ingress pods, which NetworkPolicies of exposed servers admit.
	Namespaces []string `json:"namespaces,omitempty"`

	// Err is set, and all other fields empty, if the setting is invalid; it affects only exposed custom resources.
	Err error `json:"-"`
}

// Gateway refers to a Gateway of the Gateway API.
type Gateway struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// SectionName is the listener; empty means all that match.
	SectionName string `json:"sectionName,omitempty"`
}

func parseEdge(text string) Edge {
	var e Edge
	err := decode([]byte(text), &e)
	if err == nil {
		err = e.validate().ToAggregate()
	}
	if err != nil {
		return Edge{Err: fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyEdge, err)}
	}
	if e.Kind == "" {
		e.Kind = EdgeAuto
	}
	return e
}

func (e *Edge) validate() field.ErrorList {
	var errs field.ErrorList
	invalid := func(path *field.Path, value string, problems []string) {
		if len(problems) > 0 {
			errs = append(errs, field.Invalid(path, limits.Message(value), problems[0]))
		}
	}
	switch e.Kind {
	case "", EdgeAuto, EdgeRoute, EdgeIngress, EdgeNone:
	case EdgeHTTPRoute:
		if e.Gateway == nil {
			errs = append(errs, field.Required(field.NewPath("gateway"), "an HTTPRoute attaches to a Gateway: set name and "+
				"namespace"))
		}
	default:
		errs = append(errs, field.NotSupported(field.NewPath("kind"), e.Kind, EdgeKinds()))
	}
	if e.Domain != "" {
		invalid(field.NewPath("domain"), e.Domain, ValidateHost(e.Domain))
	}
	if g := e.Gateway; g != nil {
		path := field.NewPath("gateway")
		invalid(path.Child("name"), g.Name, validation.IsDNS1123Subdomain(g.Name))
		invalid(path.Child("namespace"), g.Namespace, apivalidation.ValidateNamespaceName(g.Namespace, false))
		if g.SectionName != "" {
			invalid(path.Child("sectionName"), g.SectionName, validation.IsDNS1123Subdomain(g.SectionName))
		}
	}
	if e.IngressClassName != "" {
		invalid(field.NewPath("ingressClassName"), e.IngressClassName, validation.IsDNS1123Subdomain(e.IngressClassName))
	}
	if e.TLSSecretName != "" {
		invalid(field.NewPath("tlsSecretName"), e.TLSSecretName, validation.IsDNS1123Subdomain(e.SecretName("x")))
	}
	errs = append(errs, apivalidation.ValidateAnnotations(e.Annotations, field.NewPath("annotations"))...)
	if len(e.Namespaces) > limits.EdgeNamespaces {
		errs = append(errs, field.TooMany(field.NewPath("namespaces"), len(e.Namespaces), limits.EdgeNamespaces))
	}
	for i, name := range e.Namespaces {
		invalid(field.NewPath("namespaces").Index(i), name, apivalidation.ValidateNamespaceName(name, false))
	}
	return errs
}

// SecretName returns TLSSecretName for a custom resource.
func (e *Edge) SecretName(resource string) string {
	return strings.ReplaceAll(e.TLSSecretName, NamePlaceholder, resource)
}

const hostForm = "must be a DNS name, such as llama.example.com: lower-case letters, digits, '-' and '.', at most " +
	"253 characters, and 63 between two dots"

// ValidateHost returns the problems of a host name. It must be a DNS name; IP addresses and wildcards are invalid.
func ValidateHost(host string) []string {
	problems := validation.IsDNS1123Subdomain(host)
	numeric := true
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			problems = append(problems, "a label is too long")
		}
		numeric = numeric && strings.Trim(label, "0123456789") == ""
	}
	if len(problems) > 0 || numeric {
		return []string{hostForm}
	}
	return nil
}

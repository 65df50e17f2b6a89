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

// The kinds.
const (
	// EdgeAuto: a Route where the cluster has that API; otherwise an HTTPRoute where the settings name a Gateway and the
	// cluster has that API; otherwise an Ingress.
	EdgeAuto EdgeKind = "Auto"
	// EdgeRoute: a Route of OpenShift.
	EdgeRoute EdgeKind = "Route"
	// EdgeHTTPRoute: an HTTPRoute of the Gateway API.
	EdgeHTTPRoute EdgeKind = "HTTPRoute"
	// EdgeIngress: an Ingress.
	EdgeIngress EdgeKind = "Ingress"
	// EdgeNone: nothing. Servers cannot be exposed.
	EdgeNone EdgeKind = "None"
)

// EdgeKinds returns all kinds that the setting can have.
func EdgeKinds() []EdgeKind {
	return []EdgeKind{EdgeAuto, EdgeRoute, EdgeHTTPRoute, EdgeIngress, EdgeNone}
}

// NamePlaceholder stands for the name of the custom resource in Edge.TLSSecretName.
const NamePlaceholder = "{name}"

// Edge says how servers are exposed outside of the cluster. The zero value is what holds without the setting.
type Edge struct {
	// Kind is the kind of object; empty means EdgeAuto.
	Kind EdgeKind `json:"kind,omitempty"`
	// Domain is the domain of the host names <name>-<namespace>.<domain> of custom resources that name no host; empty
	// where there is none.
	Domain string `json:"domain,omitempty"`
	// Gateway is what an HTTPRoute attaches to; nil where there is none.
	Gateway *Gateway `json:"gateway,omitempty"`
	// IngressClassName is the class of an Ingress; empty means the default class of the cluster.
	IngressClassName string `json:"ingressClassName,omitempty"`
	// TLSSecretName is the Secret, in the namespace of the custom resource, with which the ingress controller serves
	// HTTPS. NamePlaceholder stands for the name of the custom resource. Empty means HTTP.
	TLSSecretName string `json:"tlsSecretName,omitempty"`
	// Annotations are those of the Route, HTTPRoute or Ingress.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Namespaces are those of the pods that forward the requests: NetworkPolicies of exposed servers let them in.
	Namespaces []string `json:"namespaces,omitempty"`

	// Err is what is wrong with the setting: it harms only custom resources that are exposed. Then nothing else is set.
	Err error `json:"-"`
}

// Gateway refers to a Gateway of the Gateway API.
type Gateway struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// SectionName is the listener; empty means all that fit.
	SectionName string `json:"sectionName,omitempty"`
}

// parseEdge reads KeyEdge.
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

// SecretName is TLSSecretName for the custom resource of a name.
func (e *Edge) SecretName(resource string) string {
	return strings.ReplaceAll(e.TLSSecretName, NamePlaceholder, resource)
}

const hostForm = "must be a DNS name, such as llama.example.com: lower-case letters, digits, '-' and '.', at most " +
	"253 characters, and 63 between two dots"

// ValidateHost returns what is wrong with a host name: Routes, HTTPRoutes and Ingresses take DNS names, neither
// addresses nor wildcards.
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

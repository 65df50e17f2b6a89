// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const pathExpose = "spec.networking.expose"

// edge returns the operator's setting with the kind resolved for this cluster, and the values of the custom resource.
func (in *Inputs) edge() settings.Edge {
	edge, expose := in.Edge, in.Spec.Expose
	edge.IngressClassName = cmp.Or(expose.ClassName, edge.IngressClassName)
	if expose.TLSSecretName != "" {
		edge.TLSSecretName = expose.TLSSecretName
	}
	if len(expose.Annotations) > 0 {
		annotations := maps.Clone(expose.Annotations)
		for name, value := range in.Edge.Annotations {
			if _, given := annotations[name]; !given {
				annotations[name] = value
			}
		}
		edge.Annotations = annotations
	}
	switch {
	case edge.Kind != "" && edge.Kind != settings.EdgeAuto:
	case in.EdgeAPIs.Route:
		edge.Kind = settings.EdgeRoute
	case in.EdgeAPIs.HTTPRoute && edge.Gateway != nil:
		edge.Kind = settings.EdgeHTTPRoute
	default:
		edge.Kind = settings.EdgeIngress
	}
	return edge
}

// passthrough reports whether the edge forwards TLS unterminated: the certificate is unknown or matches the public
// host, or the server requires client certificates.
func (d *Desired) passthrough(in *Inputs) bool {
	if d.Expose.TLSSecretName != "" {
		return false
	}
	if d.Certificate == nil || d.TLS().ClientCertificates() {
		return true
	}
	_, err := x509.ParseCertificate(d.Certificate.Leaf)
	return err != nil || d.certifiesHost(in)
}

// certifiesHost reports whether the server's certificate is for the exposed host name.
func (d *Desired) certifiesHost(in *Inputs) bool {
	if d.Certificate == nil {
		return false
	}
	host := objects.Hostname(in.CR, d.Expose, &d.Edge)
	leaf, err := x509.ParseCertificate(d.Certificate.Leaf)
	return err == nil && host != "" && leaf.VerifyHostname(host) == nil
}

// isHostless reports whether the edge object takes requests for every host name.
func (in *Inputs) isHostless() bool {
	edge := in.edge()
	return in.Spec.Expose.Enabled && (edge.Kind == settings.EdgeIngress || edge.Kind == settings.EdgeHTTPRoute) &&
		objects.Hostname(in.CR, in.Spec.Expose, &edge) == ""
}

// SharesHost reports whether the server is exposed at a host that other custom resources may use.
func (in *Inputs) SharesHost() bool {
	edge := in.edge()
	if !in.Spec.Expose.Enabled || edge.Err != nil || edge.Kind == settings.EdgeNone {
		return false
	}
	return edge.Kind != settings.EdgeRoute || objects.Hostname(in.CR, in.Spec.Expose, &edge) != ""
}

func (r *report) warnSharedHost(in *Inputs) {
	if in.OlderWithHost == nil || in.isPeer(in.OlderWithHost.Namespace, in.OlderWithHost.Name) {
		return
	}
	edge := in.edge()
	use := "has no host name either"
	if host := objects.Hostname(in.CR, in.Spec.Expose, &edge); host != "" {
		use = "uses the host name " + host + ", too"
	}
	r.warn(problem.HostnameNotUnique, pathExpose, fmt.Sprintf("the older LlamaStackDistribution %s %s: the requests "+
		"reach the older server, this one, or both",
		in.OlderWithHost, use), "set another "+pathExpose+".hostname in one of them")
}

// checkExpose reports the problems of exposing the server.
func (r *report) checkExpose(in *Inputs) {
	expose, edge := in.Spec.Expose, in.edge()
	if expose.Enabled && edge.Err == nil && edge.Kind != settings.EdgeNone {
		r.checkEdgeFields(&expose, &edge)
	}
	host := objects.Hostname(in.CR, in.Spec.Expose, &edge)
	switch {
	case !expose.Enabled:
	case edge.Err != nil:
		r.Add(problem.Problem{
			Reason: problem.InvalidOperatorSettings, Path: pathExpose, Type: field.ErrorTypeInvalid, Detail: "operator " +
				"settings: " + edge.Err.Error(),
			Fix: "correct the ConfigMap " + settings.ConfigMapName, Err: edge.Err,
		})
	case edge.Kind == settings.EdgeRoute && !in.EdgeAPIs.Route, edge.Kind == settings.EdgeHTTPRoute &&
		!in.EdgeAPIs.HTTPRoute:
		r.Add(problem.Problem{
			Reason: problem.DependencyNotReady, Path: pathExpose, Type: field.ErrorTypeNotFound,
			Detail: fmt.Sprintf("the cluster does not have the API of %ss, which the operator's settings require", edge.Kind),
			Fix: fmt.Sprintf("install it, or change kind in the key %s of the ConfigMap %s", settings.KeyEdge,
				settings.ConfigMapName),
		})
	case edge.Kind == settings.EdgeNone:
		r.warn(problem.NoEffect, pathExpose, fmt.Sprintf("has no effect: the operator's settings disable exposing servers "+
			"(kind in the key %s of the ConfigMap "+
			"%s)", settings.KeyEdge, settings.ConfigMapName), "remove it, or ask the administrator")
	case expose.Hostname != "":
		if problems := settings.ValidateHost(expose.Hostname); len(problems) > 0 {
			r.invalidField(pathExpose+".hostname", expose.Hostname, problems[0], "")
		}
	case host != "":
		if len(settings.ValidateHost(host)) > 0 {
			r.invalidField(pathExpose, host, "is not a valid host name: the name and the namespace are too long together",
				"set "+pathExpose+".hostname")
		}
	case in.isHostless():
		r.warn(problem.HostnameNotUnique, pathExpose,
			fmt.Sprintf("the %s has no host name: it acts as a catch-all for the host names that no other one has", edge.Kind),
			fmt.Sprintf("set %s.hostname, or domain in the key %s of the ConfigMap %s", pathExpose, settings.KeyEdge,
				settings.ConfigMapName))
	}
}

// checkEdgeFields reports invalid values of the fields of expose, and those without an effect on the kind of object.
func (r *report) checkEdgeFields(expose *parse.Expose, edge *settings.Edge) {
	const class, tls = pathExpose + ".className", pathExpose + ".tls"
	for _, f := range []struct{ path, value string }{
		{class, expose.ClassName}, {tls + ".secretName", expose.TLSSecretName},
	} {
		if f.value == "" {
			continue
		}
		if problems := validation.IsDNS1123Subdomain(f.value); len(problems) > 0 {
			r.invalidField(f.path, f.value, problems[0], "")
		}
	}
	for _, err := range apivalidation.ValidateAnnotations(expose.Annotations, field.NewPath("annotations")) {
		r.invalidField(pathExpose+"."+err.Field, "", err.Detail, "correct it")
	}
	if expose.ClassName != "" && edge.Kind != settings.EdgeIngress {
		r.warn(problem.NoEffect, class, fmt.Sprintf("has no effect: the server is exposed by an object of the kind %s, "+
			"which has no class", edge.Kind), "remove it")
	}
	if expose.TLSSecretName != "" && edge.Kind == settings.EdgeHTTPRoute {
		r.warn(problem.NoEffect, tls, "has no effect: the listener of the Gateway has the certificate",
			"remove it, or ask the administrator for a listener with it")
	}
}

// warnPlainEdge warns of an Ingress without TLS in front of a server with TLS, unless the server's certificate is for
// the host name, because the ingress controller may then forward the connections as they are.
func (d *Desired) warnPlainEdge(in *Inputs) {
	if !d.Expose.Enabled || d.Edge.Kind != settings.EdgeIngress || d.Edge.TLSSecretName != "" ||
		d.Scheme() != corev1.URISchemeHTTPS || d.certifiesHost(in) {
		return
	}
	d.problems.warn(problem.Unprotected, pathExpose, "the server has TLS, but the Ingress in front of it has not: "+
		"clients outside of the cluster reach the Ingress by plain HTTP",
		"set "+pathExpose+".tls.secretName to a Secret with a certificate for the host name")
}

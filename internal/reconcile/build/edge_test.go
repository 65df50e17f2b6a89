// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"slices"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func exposed(t *testing.T, expose string, edge settings.Edge) *Inputs {
	t.Helper()
	in := inputsOf(t, "distribution: {name: starter}\nnetworking: {expose: "+expose+"}", "")
	in.Edge = edge
	return in
}

// Proves: FR-065, R62, R61.
func TestBuildRejectsInvalidHostnames(t *testing.T) {
	for name, c := range map[string]struct {
		expose string
		edge   settings.Edge
		want   string
	}{
		"upper case": {"{hostname: Llama.example}", settings.Edge{}, `spec.networking.expose.hostname: Invalid value: "Llama.example": must be a DNS name`},
		"address":    {"{hostname: 10.0.0.1}", settings.Edge{}, `spec.networking.expose.hostname: Invalid value: "10.0.0.1": must be a DNS name`},
		"wildcard":   {"{hostname: '*.example'}", settings.Edge{}, `spec.networking.expose.hostname: Invalid value: "*.example": must be a DNS name`},
		"too long": {
			"true", settings.Edge{Domain: strings.Repeat("a.", 123) + "com"}, "is not a valid host name: the name and the namespace are too long together",
		},
		"wrong setting": {"true", settings.Edge{Err: errors.New("key edge: wrong")}, "spec.networking.expose: Invalid value: operator settings: key edge: wrong"},
	} {
		d, problems := fail(t, exposed(t, c.expose, c.edge))
		if len(d.Objects) > 0 || len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %q, want %q", name, problems.Message(), c.want)
		}
	}
	build(t, exposed(t, "false", settings.Edge{Err: errors.New("wrong")})) // a wrong setting does not matter without exposure
}

// Proves: R62 (an Ingress without a host name gets a warning or an error; a domain provides one).
func TestBuildWarnsOfMissingHostnames(t *testing.T) {
	for name, c := range map[string]struct {
		expose string
		edge   settings.Edge
		want   problem.Reason
	}{
		"no domain":          {"true", settings.Edge{}, problem.HostnameNotUnique},
		"domain":             {"true", settings.Edge{Domain: "apps.example.com"}, ""},
		"host name":          {"{hostname: a.example}", settings.Edge{}, ""},
		"not exposed":        {"false", settings.Edge{}, ""},
		"exposed by nothing": {"true", settings.Edge{Kind: settings.EdgeNone}, problem.NoEffect},
	} {
		in := exposed(t, c.expose, c.edge)
		warnings := slices.DeleteFunc(build(t, in).Warnings, func(p problem.Problem) bool { return p.Reason == problem.Unprotected })
		found := slices.ContainsFunc(warnings, func(p problem.Problem) bool { return p.Reason == c.want && p.Path == pathExpose })
		if (c.want == "" && len(warnings) > 0) || (c.want != "" && !found) {
			t.Errorf("%s: %v, want %q", name, warnings, c.want)
		}
		in.Forbidden = []settings.Restriction{settings.ForbidIngressWithoutHostname}
		_, problems := buildWith(t.Context(), in)
		if forbidden := problems.HasErrors(); forbidden != (c.want == problem.HostnameNotUnique) {
			t.Errorf("%s: forbidden %v: %s", name, forbidden, problems.Message())
		}
	}
}

// Proves: FR-064, R62 (the default is Route, then HTTPRoute with a Gateway in the settings, then Ingress; a missing API
// is waited for).
func TestBuildChoosesTheEdge(t *testing.T) {
	gateway := &settings.Gateway{Name: "public", Namespace: "gateways"}
	all := objects.EdgeAPIs{Route: true, HTTPRoute: true}
	for name, c := range map[string]struct {
		apis objects.EdgeAPIs
		edge settings.Edge
		want string
	}{
		"nothing":                   {objects.EdgeAPIs{}, settings.Edge{}, "Ingress"},
		"Route":                     {all, settings.Edge{Kind: settings.EdgeAuto, Gateway: gateway}, "Route"},
		"Gateway API and Gateway":   {objects.EdgeAPIs{HTTPRoute: true}, settings.Edge{Kind: settings.EdgeAuto, Gateway: gateway}, "HTTPRoute"},
		"Gateway API alone":         {objects.EdgeAPIs{HTTPRoute: true}, settings.Edge{Kind: settings.EdgeAuto}, "Ingress"},
		"Gateway alone":             {objects.EdgeAPIs{}, settings.Edge{Kind: settings.EdgeAuto, Gateway: gateway}, "Ingress"},
		"chosen: Ingress":           {all, settings.Edge{Kind: settings.EdgeIngress}, "Ingress"},
		"chosen: HTTPRoute":         {all, settings.Edge{Kind: settings.EdgeHTTPRoute, Gateway: gateway}, "HTTPRoute"},
		"chosen: none":              {all, settings.Edge{Kind: settings.EdgeNone}, ""},
		"chosen: a missing Route":   {objects.EdgeAPIs{}, settings.Edge{Kind: settings.EdgeRoute}, "missing"},
		"chosen: a missing Gateway": {objects.EdgeAPIs{Route: true}, settings.Edge{Kind: settings.EdgeHTTPRoute, Gateway: gateway}, "missing"},
	} {
		in := exposed(t, "{hostname: a.example}", c.edge)
		in.EdgeAPIs = c.apis
		d, problems := buildWith(t.Context(), in)
		if c.want == "missing" {
			if errs := problems.Of(problem.WaitingForDependency); len(errs) != 1 || errs[0].Reason != problem.DependencyNotReady || len(d.Objects) > 0 {
				t.Errorf("%s: %s", name, problems.Message())
			}
			continue
		}
		var got []string
		for _, o := range d.Objects {
			if kind := o.GetObjectKind().GroupVersionKind().Kind; slices.Contains([]string{"Ingress", "Route", "HTTPRoute"}, kind) {
				got = append(got, kind)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s: %s", name, got, c.want, problems.Message())
		}
	}
}

// Proves: R102 (class, annotations and certificate of the custom resource come before those of the settings).
func TestEdgeOfTheCustomResource(t *testing.T) {
	set := settings.Edge{
		Kind: settings.EdgeIngress, IngressClassName: "shared", TLSSecretName: "{name}-tls", Annotations: map[string]string{"a.example/a": "1", "a.example/b": "2"},
	}
	const own = "{hostname: a.example, className: own, annotations: {cert-manager.io/issuer: letsencrypt, a.example/b: '3'}, tls: {secretName: edge-tls}}"
	ingressOf := func(in *Inputs) *networkingv1.Ingress {
		t.Helper()
		for _, o := range build(t, in).Objects {
			if i, ok := o.(*networkingv1.Ingress); ok {
				return i
			}
		}
		t.Fatal("no Ingress")
		return nil
	}
	i := ingressOf(exposed(t, own, set))
	want := map[string]string{"a.example/a": "1", "a.example/b": "3", "cert-manager.io/issuer": "letsencrypt"}
	for name, value := range want {
		if i.Annotations[name] != value {
			t.Errorf("annotations %v, want %v", i.Annotations, want)
		}
	}
	if *i.Spec.IngressClassName != "own" || i.Spec.TLS[0].SecretName != "edge-tls" || set.Annotations["a.example/b"] != "2" {
		t.Errorf("%+v", i.Spec)
	}
	if i := ingressOf(exposed(t, "{hostname: a.example}", set)); *i.Spec.IngressClassName != "shared" || i.Spec.TLS[0].SecretName != "plain-stack-tls" {
		t.Errorf("without own values: %+v", i.Spec)
	}
	for _, wrong := range []string{"{className: A}", "{tls: {secretName: a_b}}", "{annotations: {'a b': c}}"} {
		if _, problems := fail(t, exposed(t, wrong, set)); !strings.Contains(problems.Message(), "spec.networking.expose.") {
			t.Errorf("%s: %s", wrong, problems.Message())
		}
	}
	in := exposed(t, own, set)
	in.Forbidden = []settings.Restriction{settings.ForbidExposeAnnotations}
	if _, problems := fail(t, in); !strings.Contains(problems.Message(), "spec.networking.expose.annotations: Forbidden") {
		t.Errorf("forbidden: %s", problems.Message())
	}
	for kind, unused := range map[settings.EdgeKind]int{settings.EdgeRoute: 1, settings.EdgeHTTPRoute: 2} {
		in := exposed(t, own, settings.Edge{Kind: kind, Gateway: &settings.Gateway{Name: "g", Namespace: "g"}})
		in.EdgeAPIs = objects.EdgeAPIs{Route: true, HTTPRoute: true}
		got := 0
		for _, o := range build(t, in).Objects {
			if r, ok := o.(*routev1.Route); ok && (r.Spec.TLS.ExternalCertificate == nil || r.Spec.TLS.ExternalCertificate.Name != "edge-tls") {
				t.Errorf("the Route's certificate is %+v", r.Spec.TLS)
			}
		}
		for _, w := range build(t, in).Warnings {
			if w.Reason == problem.NoEffect {
				got++
			}
		}
		if got != unused {
			t.Errorf("%s: %d warnings, want %d", kind, got, unused)
		}
	}
}

// Proves: R102, US-5 (an Ingress without TLS in front of a server with TLS gets a warning).
func TestPlainIngressInFrontOfTLSIsTold(t *testing.T) {
	for text, want := range map[string]bool{"{hostname: a.example}": true, "{hostname: a.example, tls: {secretName: s}}": false, "false": false} {
		in := exposed(t, text, settings.Edge{Kind: settings.EdgeIngress})
		in.CR.Spec.Networking.TLS = &v1alpha2.TLSSpec{Enabled: new(true), SecretName: new("tls")}
		refreshPods(in)
		in.Certificate = CertificateOf(in.CR)
		in.Certificate.State = Unknown
		told := slices.ContainsFunc(build(t, in).Warnings, func(p problem.Problem) bool {
			return p.Reason == problem.Unprotected && strings.Contains(p.Detail, "plain HTTP")
		})
		if told != want {
			t.Errorf("%s: warned %t", text, told)
		}
	}
}

// Proves: R62 (the warning on the younger of two custom resources names the older one).
func TestBuildWarnsOfATakenHost(t *testing.T) {
	for name, c := range map[string]struct {
		expose string
		edge   settings.Edge
		want   string
	}{
		"host name":    {"{hostname: a.example}", settings.Edge{}, "the older LlamaStackDistribution ns/elder uses the host name a.example, too: "},
		"made":         {"true", settings.Edge{Domain: "example"}, "the older LlamaStackDistribution ns/elder uses the host name s-ns.example, too: "},
		"no host name": {"true", settings.Edge{}, "the older LlamaStackDistribution ns/elder has no host name either: "},
	} {
		in := exposed(t, c.expose, c.edge)
		in.CR.Name, in.CR.Namespace = "s", "ns"
		if slices.ContainsFunc(build(t, in).Warnings, func(p problem.Problem) bool { return strings.HasPrefix(p.Detail, "the older ") }) {
			t.Errorf("%s: warned without an elder", name)
		}
		in.OlderWithHost = &types.NamespacedName{Namespace: "ns", Name: "elder"}
		warnings := build(t, in).Warnings
		if !slices.ContainsFunc(warnings, func(p problem.Problem) bool {
			return p.Reason == problem.HostnameNotUnique && strings.HasPrefix(p.Detail, c.want) && p.Path == pathExpose
		}) {
			t.Errorf("%s: %v, want %q", name, warnings, c.want)
		}
	}
}

// Proves: R62 (host names that OpenShift's router generates are unique).
func TestSharesHostFollowsTheEdge(t *testing.T) {
	for name, c := range map[string]struct {
		expose string
		edge   settings.Edge
		want   bool
	}{
		"Ingress without host name": {"true", settings.Edge{Kind: settings.EdgeIngress}, true},
		"Route without host name":   {"true", settings.Edge{Kind: settings.EdgeRoute}, false},
		"Route with host name":      {"{hostname: a.example}", settings.Edge{Kind: settings.EdgeRoute}, true},
		"Route with a domain":       {"true", settings.Edge{Kind: settings.EdgeRoute, Domain: "example"}, true},
		"HTTPRoute":                 {"true", settings.Edge{Kind: settings.EdgeHTTPRoute}, true},
		"exposed by nothing":        {"{hostname: a.example}", settings.Edge{Kind: settings.EdgeNone}, false},
		"not exposed":               {"{enabled: false, hostname: a.example}", settings.Edge{}, false},
		"wrong setting":             {"{hostname: a.example}", settings.Edge{Err: errors.New("wrong")}, false},
	} {
		in := exposed(t, c.expose, c.edge)
		refreshPods(in)
		if got := in.SharesHost(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

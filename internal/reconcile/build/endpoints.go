// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// EndpointFact is what was found at an endpointFrom.
type EndpointFact struct {
	// Ref is what the spec refers to, and Namespace where that is.
	Ref       *parse.EndpointReference
	Namespace string
	// State reports what was found; KeyMissing and Empty have no meaning here.
	State State
	// KindMissing reports of a missing object that the cluster does not have its kind at all.
	KindMissing bool
	// Address is where the object is reached, where State is Found.
	Address endpoint.Address
}

// EndpointNamespace is the namespace of what an endpointFrom of a custom resource refers to.
func (in *Inputs) EndpointNamespace(ref *parse.EndpointReference) string {
	return cmp.Or(ref.Namespace, in.CR.Namespace)
}

// LeaveEndpointsUnread fills in what the custom resource takes endpoints from, for callers that read no object: what
// may be referred to counts as found, at an address that nobody knows.
func (in *Inputs) LeaveEndpointsUnread(allowed *settings.EndpointFrom) {
	for _, ref := range serverconfig.EndpointUses(in.Spec) {
		fact := EndpointFact{Ref: ref, Namespace: in.EndpointNamespace(ref), State: Unknown}
		if !allowed.Allows(in.CR.Namespace, fact.Namespace) {
			fact.State = Forbidden
		}
		in.Endpoints = append(in.Endpoints, fact)
	}
}

// URL is the address, and a placeholder where it is not known.
func (f *EndpointFact) URL() string {
	return cmp.Or(f.Address.URL, endpoint.Placeholder(f.Ref, f.Namespace))
}

// withEndpoints returns the inputs with the addresses in the spec.
func (in *Inputs) withEndpoints() *Inputs {
	if len(in.Spec.EndpointReferences()) == 0 {
		return in
	}
	completed := *in
	completed.Spec = in.Spec.WithEndpoints(func(ref *parse.EndpointReference) string {
		at := slices.IndexFunc(in.Endpoints, func(f EndpointFact) bool { return f.Ref.Path == ref.Path })
		if at < 0 {
			return endpoint.Placeholder(ref, in.EndpointNamespace(ref))
		}
		return in.Endpoints[at].URL()
	})
	return &completed
}

// checkEndpoints reports what has no address.
func (r *report) checkEndpoints(in *Inputs) {
	for i := range in.Endpoints {
		r.AddFound(in.Endpoints[i].absent(in.CR.Namespace))
	}
}

// lacksEndpoint reports whether something has no address.
func (in *Inputs) lacksEndpoint() bool {
	return slices.ContainsFunc(in.Endpoints, func(f EndpointFact) bool { return f.absent(in.CR.Namespace) != nil })
}

// absent is the problem of an object that has no address; nil where it has one, or where nobody knows. It heals by
// itself: the object is watched.
func (f *EndpointFact) absent(own string) *problem.Problem {
	kind, what := f.Ref.Kind, fmt.Sprintf("%s %s (namespace %s)", f.Ref.Kind, f.Ref.Name, f.Namespace)
	p := problem.Problem{Reason: problem.DependencyNotReady, Path: f.Ref.Path}
	switch f.State {
	case Missing, KeyMissing, Empty, NotAllowed:
		p.Detail, p.Fix = fmt.Sprintf("%s not found: %s (namespace %s)", kind, f.Ref.Name, f.Namespace), "create it"
		if f.KindMissing {
			p.Detail, p.Fix = fmt.Sprintf("the cluster does not have the API of %ss (%s)", kind,
				endpoint.GroupVersionKind(kind).GroupVersion()),
				"install it, or write endpoint"
		}
	case NotWatched:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Detail, p.Fix = what+" is in a namespace that this operator does not watch", "write endpoint instead"
	case Forbidden:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Detail = fmt.Sprintf("%s is in another namespace than the LlamaStackDistribution (%s), which the operator's "+
			"settings do not allow", what, own)
		p.Fix = fmt.Sprintf("write endpoint instead, or ask the operator's administrator for namespaces: [%s] in the key "+
			"%s of the ConfigMap %s",
			f.Namespace, settings.KeyEndpointFrom, settings.ConfigMapName)
	case Found:
		if f.Address.URL != "" {
			return nil
		}
		p.Detail, p.Fix = what+" "+f.Address.Missing, f.Address.Fix
	case Unknown:
		return nil
	}
	return problem.New(p)
}

// hashEndpoints adds the addresses to the hash.
func hashEndpoints(h *secret.Hash, facts []EndpointFact) {
	for i := range facts {
		h.Text("endpoint")
		h.Text(facts[i].Ref.Path)
		h.Text(facts[i].Address.URL)
	}
}

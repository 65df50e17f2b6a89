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

// EndpointFact is the result of reading an endpointFrom.
type EndpointFact struct {
	Ref       *parse.EndpointReference
	Namespace string
	// State is the result; KeyMissing and Empty do not occur.
	State State
	// KindMissing reports that the cluster does not have the kind of a missing object.
	KindMissing bool
	// Address is the object's address if State is Found.
	Address endpoint.Address
}

// EndpointNamespace returns the namespace of a referenced endpoint.
func (in *Inputs) EndpointNamespace(ref *parse.EndpointReference) string {
	return cmp.Or(ref.Namespace, in.CR.Namespace)
}

// AssumeEndpointsFound sets allowed endpoints as found, with an unknown address, for callers that read no objects.
func (in *Inputs) AssumeEndpointsFound(allowed *settings.EndpointFrom) {
	for _, ref := range serverconfig.EndpointUses(in.Spec) {
		fact := EndpointFact{Ref: ref, Namespace: in.EndpointNamespace(ref), State: Unknown}
		if !allowed.Allows(in.CR.Namespace, fact.Namespace) {
			fact.State = Forbidden
		}
		in.Endpoints = append(in.Endpoints, fact)
	}
}

// URL returns the address, or a placeholder if it is unknown.
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

func (r *report) checkEndpoints(in *Inputs) {
	for i := range in.Endpoints {
		f := &in.Endpoints[i]
		p := f.absent(in.CR.Namespace)
		if p == nil && in.Live == nil { // a running server keeps running
			p = f.notReady()
		}
		r.AddFound(p)
	}
}

// notReady returns the problem of a model server that is not ready for the first start of the server, or nil.
func (f *EndpointFact) notReady() *problem.Problem {
	if f.State != Found || f.Address.NotReady == "" {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.DependencyNotReady, Path: f.Ref.Path, Detail: f.description() + " " + f.Address.NotReady,
		Fix: "the operator starts the server when it is; to start now, set endpoint",
	})
}

func (f *EndpointFact) description() string {
	return fmt.Sprintf("%s %s (namespace %s)", f.Ref.Kind, f.Ref.Name, f.Namespace)
}

func (in *Inputs) isMissingEndpoint() bool {
	return slices.ContainsFunc(in.Endpoints, func(f EndpointFact) bool { return f.absent(in.CR.Namespace) != nil })
}

// absent returns the problem of an object without an address, or nil if it has one or is unknown.
func (f *EndpointFact) absent(own string) *problem.Problem {
	kind, description := f.Ref.Kind, f.description()
	p := problem.Problem{Reason: problem.DependencyNotReady, Path: f.Ref.Path}
	switch f.State {
	case Missing, KeyMissing, Empty, NotAllowed:
		p.Detail, p.Fix = fmt.Sprintf("%s not found: %s (namespace %s)", kind, f.Ref.Name, f.Namespace), "create it"
		if f.KindMissing {
			p.Detail, p.Fix = fmt.Sprintf("the cluster does not have the API of %ss (%s)", kind,
				endpoint.GroupVersionKind(kind).GroupVersion()),
				"install it, or set endpoint"
		}
	case NotWatched:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Detail, p.Fix = description+" is in a namespace that this operator does not watch", "set endpoint instead"
	case Forbidden:
		p.Reason, p.Type = problem.ForbiddenBySettings, field.ErrorTypeForbidden
		p.Detail = fmt.Sprintf("%s is in another namespace than the LlamaStackDistribution (%s), which the operator's "+
			"settings do not allow", description, own)
		p.Fix = fmt.Sprintf("set endpoint instead, or ask the operator's administrator for namespaces: [%s] in the key %s "+
			"of the ConfigMap %s",
			f.Namespace, settings.KeyEndpointFrom, settings.ConfigMapName)
	case Found:
		if f.Address.URL != "" {
			return nil
		}
		p.Detail, p.Fix = description+" "+f.Address.Problem, f.Address.Fix
	case Unknown:
		return nil
	}
	return problem.New(p)
}

func hashEndpoints(h *secret.Hash, facts []EndpointFact) {
	for i := range facts {
		h.Text("endpoint")
		h.Text(facts[i].Ref.Path)
		h.Text(facts[i].Address.URL)
	}
}

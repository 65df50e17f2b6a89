// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func (g *Gatherer) endpoints(ctx context.Context, in *build.Inputs, allowed *settings.EndpointFrom) *problem.Problem {
	for _, ref := range serverconfig.EndpointUses(in.Spec) {
		fact := build.EndpointFact{Ref: ref, Namespace: in.EndpointNamespace(ref)}
		switch {
		case !allowed.Allows(in.CR.Namespace, fact.Namespace):
			fact.State = build.Forbidden
		case fact.Namespace != in.CR.Namespace && len(g.Namespaces) > 0 && !slices.Contains(g.Namespaces, fact.Namespace):
			fact.State = build.NotWatched
		}
		in.Endpoints = append(in.Endpoints, fact)
	}
	known := map[parse.EndpointObject]client.Object{}
	for i := range in.Endpoints {
		f := &in.Endpoints[i]
		if f.State != build.Found {
			continue
		}
		if p := readEndpoint(ctx, g.Live, f, known); p != nil {
			return p
		}
	}
	return nil
}

func addressed(f *build.EndpointFact) parse.EndpointObject {
	return parse.EndpointObject{Kind: f.Ref.Kind, Namespace: f.Namespace, Name: f.Ref.Name}
}

// readEndpoint reads one object; known holds the objects that this reconcile already read.
func readEndpoint(ctx context.Context, live client.Reader, f *build.EndpointFact,
	known map[parse.EndpointObject]client.Object) *problem.Problem {
	id := addressed(f)
	o, done := known[id]
	if !done {
		o = empty(id.Kind)
		key := types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
		switch err := live.Get(ctx, key, o); {
		case meta.IsNoMatchError(err):
			f.State, f.KindMissing = build.Missing, true
			return nil
		case apierrors.IsNotFound(err):
			f.State = build.Missing
			return nil
		case err != nil:
			return lookupFailed(v1alpha2.ConditionConfigGenerated, f.Ref.Path, string(id.Kind)+" "+key.String(), err)
		}
		o.SetManagedFields(nil) // managed fields and annotations are large and hold no address
		o.SetAnnotations(nil)
		known[id] = o
	}
	switch o := o.(type) {
	case *corev1.Service:
		f.Address = endpoint.OfService(o, f.Ref)
	case *endpoint.InferenceService:
		f.Address = endpoint.OfModelServer(o.Status)
	case *endpoint.LLMInferenceService:
		f.Address = endpoint.OfModelServer(o.Status)
	}
	return nil
}

func empty(kind parse.EndpointKind) client.Object {
	switch kind {
	case parse.KindInferenceService:
		return &endpoint.InferenceService{}
	case parse.KindLLMInferenceService:
		return &endpoint.LLMInferenceService{}
	case parse.KindService:
	}
	return &corev1.Service{}
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
)

// override reads the user's own configuration. It reads a ConfigMap of another namespace only if that is allowed.
func (g *Gatherer) override(ctx context.Context, in *build.Inputs,
	r *referenceReader) (*build.OverrideFact, *problem.Problem) {
	ref, ok := in.OverrideRef()
	if !ok {
		return nil, nil
	}
	found := &build.OverrideFact{Ref: ref}
	if found.State = g.namespaceState(in.CR.Namespace, ref.Namespace); found.State != build.Found {
		return found, nil
	}
	cm, err := r.configMap(ctx, ref)
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, build.PathOverride, "ConfigMap "+ref.String(), err)
	}
	switch {
	case !g.mayUse(cm, in.CR.Namespace, ref.Namespace):
		found.State = build.NotAllowed
		return found, nil
	case cm == nil:
		found.State = build.Missing
		return found, nil
	}
	found.Read(cm.Data, cm.BinaryData)
	return found, nil
}

// mayUse reports whether the namespace may use a ConfigMap, or nil: its own, or with the owner's consent.
func (g *Gatherer) mayUse(cm *corev1.ConfigMap, own, namespace string) bool {
	return namespace == own || g.AllowForeignConfigMaps || cm != nil && build.Allows(cm.Annotations, own)
}

// namespaceState returns why a resource may not read ConfigMaps of the namespace, or Found if it may.
func (g *Gatherer) namespaceState(own, namespace string) build.State {
	switch {
	case namespace == own:
	case g.ForbidForeignConfigMaps:
		return build.Forbidden
	case len(g.Namespaces) > 0 && !slices.Contains(g.Namespaces, namespace):
		return build.NotWatched
	}
	return build.Found
}

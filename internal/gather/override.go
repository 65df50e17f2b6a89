// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// override reads the user's own configuration. A ConfigMap of another namespace is read only where that is allowed.
func (g *Gatherer) override(ctx context.Context, in *desired.Inputs, o *once) (*desired.OverrideFact, *problem.Problem) {
	ref, ok := in.OverrideRef()
	if !ok {
		return nil, nil
	}
	found := &desired.OverrideFact{Ref: ref}
	if found.State = g.foreign(in.CR.Namespace, ref.Namespace); found.State != desired.Found {
		return found, nil
	}
	cm, err := o.configMap(ctx, ref)
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, desired.PathOverride, "ConfigMap "+ref.String(), err)
	}
	switch {
	case !g.consents(cm, in.CR.Namespace, ref.Namespace):
		found.State = desired.NotAllowed
		return found, nil
	case cm == nil:
		found.State = desired.Missing
		return found, nil
	}
	if text, has := cm.Data[objects.ConfigKey]; has {
		found.Content = []byte(text)
	} else {
		found.Lookup = desired.LookIn(cm.Data, objects.ConfigKey)
	}
	return found, nil
}

// consents reports whether a ConfigMap, nil where there is none, may be used in a namespace: in its own, or with its owner's consent.
func (g *Gatherer) consents(cm *corev1.ConfigMap, own, namespace string) bool {
	return namespace == own || g.AllowForeignConfigMaps || cm != nil && desired.Allows(cm.Annotations, own)
}

// foreign reports why a ConfigMap of the namespace may not be read for a resource; Found where it may.
func (g *Gatherer) foreign(own, namespace string) desired.State {
	switch {
	case namespace == own:
	case g.ForbidForeignConfigMaps:
		return desired.Forbidden
	case len(g.Namespaces) > 0 && !slices.Contains(g.Namespaces, namespace):
		return desired.NotWatched
	}
	return desired.Found
}

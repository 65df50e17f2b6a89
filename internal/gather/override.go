// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// override reads the user's own configuration. A ConfigMap of another namespace is read only where that is allowed.
func (g *Gatherer) override(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*desired.OverrideFact, *fault.Fault) {
	ref, ok := desired.OverrideRef(cr)
	if !ok {
		return nil, nil
	}
	found := &desired.OverrideFact{Ref: ref}
	if found.State = g.foreign(cr.Namespace, ref.Namespace); found.State != desired.ConfigMapFound {
		return found, nil
	}
	var cm corev1.ConfigMap
	err := g.Live.Get(ctx, ref, &cm)
	text, has := cm.Data[objects.ConfigKey]
	switch {
	case apierrors.IsNotFound(err):
		found.State = desired.ConfigMapMissing
	case err != nil:
		return nil, failedToAsk(v1alpha2.ConditionConfigGenerated, "ConfigMap "+ref.String(), err)
	case !has:
		found.State, found.Keys = desired.ConfigMapKeyMissing, slices.Sorted(maps.Keys(cm.Data))
	default:
		found.Content = []byte(text)
	}
	return found, nil
}

// foreign tells why a ConfigMap of the namespace may not be read for a resource; ConfigMapFound where it may.
func (g *Gatherer) foreign(own, namespace string) desired.ConfigMapState {
	switch {
	case namespace == own:
	case g.ForbidForeignConfigMaps:
		return desired.ConfigMapForbidden
	case len(g.Namespaces) > 0 && !slices.Contains(g.Namespaces, namespace):
		return desired.ConfigMapNotWatched
	}
	return desired.ConfigMapFound
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// claim reads the PVC in spec.workload.storage.claimName live, because the caches hold only the operator's own.
func (g *Gatherer) claim(ctx context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.ClaimFact,
	*problem.Problem) {
	key := types.NamespacedName{Namespace: cr.Namespace, Name: objects.NamedClaim(&cr.Spec)}
	if len(validation.NameIsDNSSubdomain(key.Name, false)) > 0 {
		return nil, nil // no name, or one that no object can have
	}
	pvc := &corev1.PersistentVolumeClaim{}
	err := g.Live.Get(ctx, key, pvc)
	switch {
	case apierrors.IsNotFound(err):
		return &build.ClaimFact{}, nil
	case err != nil:
		return nil, lookupFailed(v1alpha2.ConditionDeploymentUpdated, build.PathClaim, "PersistentVolumeClaim "+key.String(),
			err)
	}
	return &build.ClaimFact{PVC: pvc}, nil
}

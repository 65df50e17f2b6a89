// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// claims reads the PVCs that the spec names.
func (g *Gatherer) claims(ctx context.Context, in *build.Inputs, problems *problem.Collector) {
	spec := &in.CR.Spec
	var p *problem.Problem
	in.Claim, p = g.claim(ctx, in.CR.Namespace, objects.NamedClaim(spec), build.PathClaim)
	problems.AddFound(p)
	in.ModelCacheClaim, p = g.claim(ctx, in.CR.Namespace, ptr.Deref(objects.ModelCache(spec).ClaimName, ""),
		build.PathModelCache+".claimName")
	problems.AddFound(p)
}

// claim reads a PVC live, because the caches hold only the operator's own; path is the field that names it.
func (g *Gatherer) claim(ctx context.Context, namespace, name, path string) (*build.ClaimFact, *problem.Problem) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if len(validation.NameIsDNSSubdomain(key.Name, false)) > 0 {
		return nil, nil // no name, or one that no object can have
	}
	pvc := &corev1.PersistentVolumeClaim{}
	err := g.Live.Get(ctx, key, pvc)
	switch {
	case apierrors.IsNotFound(err):
		return &build.ClaimFact{}, nil
	case err != nil:
		return nil, lookupFailed(v1alpha2.ConditionDeploymentUpdated, path, "PersistentVolumeClaim "+key.String(), err)
	}
	return &build.ClaimFact{PVC: pvc}, nil
}

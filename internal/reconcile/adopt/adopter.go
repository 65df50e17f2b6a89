// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Adopter takes over the objects of release 0.9. Set its fields before the first call.
type Adopter struct {
	Client client.Client
	// Cached reads from the caches: full kinds, and the metadata of ConfigMaps.
	Cached client.Reader
	Live   client.Reader
}

// Prune deletes release 0.9's ConfigMap of CA certificates when no pod mounts it.
func (a *Adopter) Prune(ctx context.Context, owner *v1alpha2.LlamaStackDistribution) *problem.Problem {
	o := apply.ConfigMapMetadata()
	err := a.Cached.Get(ctx, client.ObjectKey{Namespace: owner.Namespace, Name: release09.CABundleName(owner.Name)}, o)
	if client.IgnoreNotFound(err) != nil {
		return apply.Failed("ConfigMap "+release09.CABundleName(owner.Name), "could not be read", err)
	}
	if err != nil || !metav1.IsControlledBy(o, owner) || o.DeletionTimestamp != nil {
		return nil
	}
	replicaSets, err := apply.ReplicaSetsOf(ctx, a.Live, owner)
	if err != nil {
		return apply.Failed("the ReplicaSets", "could not be listed", err)
	}
	if slices.ContainsFunc(replicaSets, func(rs appsv1.ReplicaSet) bool {
		return apply.HasPods(&rs) && objects.MountsConfigMap(&rs.Spec.Template.Spec, o.Name)
	}) {
		return nil
	}
	return apply.Remove(ctx, a.Client, o)
}

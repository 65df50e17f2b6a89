// SPDX-License-Identifier: Apache-2.0

package downgrade

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// applied are the kinds that release 0.9 applies, owned those that it only owns.
var (
	applied = []schema.GroupVersionKind{
		{Version: "v1", Kind: "ServiceAccount"}, {Version: "v1", Kind: "Service"},
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	}
	owned = []schema.GroupVersionKind{
		{Version: "v1", Kind: "PersistentVolumeClaim"}, {Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"},
	}
)

// handOver makes release 0.9 the field manager and v1alpha1 the owner's API version. The garbage collector cannot
// resolve owners of v1alpha2 after its removal.
func (p *preparation) handOver(ctx context.Context) error {
	count := 0
	err := p.resources(ctx, func(cr *metav1.PartialObjectMetadata) error {
		for _, kind := range slices.Concat(applied, owned) {
			n, err := p.handOverKind(ctx, cr, kind)
			if err != nil {
				return err
			}
			count += n
		}
		return nil
	})
	if err == nil {
		p.progress("handed over %d objects", count)
	}
	return err
}

func (p *preparation) handOverKind(ctx context.Context, cr *metav1.PartialObjectMetadata,
	kind schema.GroupVersionKind) (int, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := p.List(ctx, list, client.InNamespace(cr.Namespace),
		client.MatchingLabels{names.LabelManagedBy: names.ManagedBy})
	if err != nil {
		return 0, fmt.Errorf("list %ss: %w", kind.Kind, err)
	}
	count := 0
	for i := range list.Items {
		o := &list.Items[i]
		if !metav1.IsControlledBy(o, cr) {
			continue
		}
		o.SetGroupVersionKind(kind)
		for j := range o.OwnerReferences {
			if ref := &o.OwnerReferences[j]; ref.UID == cr.UID {
				ref.APIVersion = v1alpha1.GroupVersion.String()
			}
		}
		entries := o.ManagedFields
		if slices.Contains(applied, kind) {
			if entries, err = mergeManagers(entries, cr.Name); err != nil {
				return count, err
			}
		}
		err := p.patch(ctx, o, []map[string]any{
			{"op": "replace", "path": "/metadata/ownerReferences", "value": o.OwnerReferences},
			{"op": "replace", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion},
		})
		if err != nil {
			return count, fmt.Errorf("hand over %s %s: %w", kind.Kind, o.Name, err)
		}
		count++
	}
	return count, nil
}

// mergeManagers merges the managed fields of both operators under release 0.9's field manager. The manager of replicas
// stays, because an autoscaled Deployment would drop to one pod otherwise.
func mergeManagers(entries []metav1.ManagedFieldsEntry, resource string) ([]metav1.ManagedFieldsEntry, error) {
	return release09.MergeEntries(entries, resource, func(e *metav1.ManagedFieldsEntry) bool {
		fromRelease09 := e.Manager == resource && e.Operation == metav1.ManagedFieldsOperationApply
		return e.Subresource == "" && e.FieldsV1 != nil && (fromRelease09 || e.Manager == names.ManagedBy)
	})
}

// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// handOverManager owns a Deployment's replicas until the autoscaler takes them over.
const handOverManager = names.ReplicasManager

// handOverReplicas keeps the number of pods when an autoscaler takes over, instead of one pod first.
func (a *Applier) handOverReplicas(ctx context.Context, desired *unstructured.Unstructured) error {
	if _, found, err := unstructured.NestedInt64(desired.Object, "spec", "replicas"); found || err != nil {
		return err
	}
	var live appsv1.Deployment
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(desired), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.Spec.Replicas == nil || !ownsReplicas(live.ManagedFields) {
		return nil
	}
	replicas := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"replicas": int64(*live.Spec.Replicas)},
	}}
	replicas.SetGroupVersionKind(desired.GroupVersionKind())
	replicas.SetNamespace(desired.GetNamespace())
	replicas.SetName(desired.GetName())
	return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(replicas), client.FieldOwner(handOverManager))
}

func ownsReplicas(entries []metav1.ManagedFieldsEntry) bool {
	for i := range entries {
		e := &entries[i]
		if e.Manager != FieldManager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" ||
			e.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec map[string]json.RawMessage `json:"f:spec"`
		}
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec["f:replicas"] != nil {
			return true
		}
	}
	return false
}

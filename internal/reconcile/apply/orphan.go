// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// isOrphan reports whether the operator made an object for a resource of this name that now has no controller.
func isOrphan(live metav1.Object, owner *v1alpha2.LlamaStackDistribution) bool {
	return metav1.GetControllerOf(live) == nil && maps.Equal(names.OwnLabels(live.GetLabels()),
		names.NewPodsSelector(owner.Name)) &&
		slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == FieldManager && e.Subresource == ""
		})
}

// isAdopted reports whether the custom resource uses a PVC of another origin, which is never deleted with it.
func isAdopted(live client.Object, owner *v1alpha2.LlamaStackDistribution) bool {
	return KindOf(live) == objects.KindPVC && metav1.GetControllerOf(live) == nil &&
		live.GetAnnotations()[names.AnnotationAdoptedBy] == owner.Name
}

// isUsable reports whether the custom resource may change an object that it does not control.
func isUsable(live client.Object, owner *v1alpha2.LlamaStackDistribution) bool {
	return isOrphan(live, owner) || isAdopted(live, owner)
}

// withoutOwner returns a copy of the object without owner. A PVC's owner may have been removed to keep the data.
func withoutOwner(o objects.Object) objects.Object {
	o = o.DeepCopyObject().(objects.Object)
	o.SetOwnerReferences(nil)
	return o
}

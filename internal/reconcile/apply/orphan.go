// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// isOrphan reports whether the operator made an object for a custom resource of the owner's name, and no controller
// owns it any more. The next apply makes the owner its controller; what is generated is made anew, so that its content
// is what its name says.
func isOrphan(live metav1.Object, owner *v1alpha2.LlamaStackDistribution) bool {
	return metav1.GetControllerOf(live) == nil && maps.Equal(objects.OwnLabels(live.GetLabels()),
		objects.NewPodsSelector(owner.Name)) &&
		slices.ContainsFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == FieldManager && e.Subresource == ""
		})
}

// withoutOwner is the object as it is desired where it stays without an owner. That is so for a PVC: it may have been
// taken away to keep the data when the custom resource is deleted.
func withoutOwner(o objects.Object) objects.Object {
	o = o.DeepCopyObject().(objects.Object)
	o.SetOwnerReferences(nil)
	return o
}

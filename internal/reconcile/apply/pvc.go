// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

const storageField = "spec.workload.storage"

// claimDifference returns the change of an existing PVC, or nil if it is as desired. It reports a desired value that
// Kubernetes never changes in a PVC, and keeps the live one if the spec has none.
func (a *Applier) claimDifference(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, desired *corev1.PersistentVolumeClaim, live client.Object,
) (*change, *problem.Problem) {
	storage := ptr.Deref(storageOf(owner), v1alpha2.PVCStorageSpec{})
	if !metav1.IsControlledBy(live, owner) && !regainsOwner(live, owner, &storage) {
		desired = withoutOwner(desired).(*corev1.PersistentVolumeClaim)
	}
	c, p := a.changeOf(ctx, desired, live)
	if c == nil || p != nil {
		return c, p
	}
	full, isFull := live.(*corev1.PersistentVolumeClaim)
	if !isFull {
		full = &corev1.PersistentVolumeClaim{}
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(desired), full); err != nil {
			return nil, Failed(c.String(), "could not be read", err)
		}
	}
	if p := checkImmutable(&storage, full); p != nil {
		return nil, p
	}
	completed := desired.DeepCopy()
	completed.Spec.StorageClassName = full.Spec.StorageClassName
	completed.Spec.AccessModes = full.Spec.AccessModes
	if size := full.Spec.Resources.Requests; storage.Size == nil || storage.Size.IsZero() {
		completed.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size[corev1.ResourceStorage]}
	}
	return a.changeOf(ctx, completed, live)
}

func storageOf(owner *v1alpha2.LlamaStackDistribution) *v1alpha2.PVCStorageSpec {
	if owner.Spec.Workload == nil {
		return nil
	}
	return owner.Spec.Workload.Storage
}

// regainsOwner reports whether a PVC without owner is deleted with the custom resource again, which the spec must ask
// for. An adopted PVC never is.
func regainsOwner(live client.Object, owner *v1alpha2.LlamaStackDistribution, storage *v1alpha2.PVCStorageSpec) bool {
	return ptr.Deref(storage.WhenDeleted, "") == v1alpha2.WhenDeletedDelete && isOrphan(live, owner) &&
		!isAdopted(live, owner)
}

// checkImmutable returns the problem of a value in the spec that differs from the live PVC's and cannot change, or nil.
func checkImmutable(storage *v1alpha2.PVCStorageSpec, live *corev1.PersistentVolumeClaim) *problem.Problem {
	immutable := func(name, what string, value any, is string) *problem.Problem {
		return problem.New(problem.Problem{
			Reason: problem.ObjectRejected, Path: storageField + "." + name, Type: field.ErrorTypeInvalid, Value: value,
			Detail: fmt.Sprintf("PersistentVolumeClaim %s exists with %s, and Kubernetes never changes the %s of a PVC; "+
				"nothing was changed", live.Name, is, what),
			Fix: "remove " + name + " to keep the PVC; or create another PVC, copy the data into it, and set " + storageField +
				".claimName to its name in place of " + name,
		})
	}
	class := ptr.Deref(live.Spec.StorageClassName, "")
	if want := storage.StorageClassName; want != nil && *want != class {
		is := "the storage class " + class
		if class == "" {
			is = "no storage class"
		}
		return immutable("storageClassName", "storage class", *want, is)
	}
	modes := modeNames(live.Spec.AccessModes)
	if want := modeNames(storage.AccessModes); want != "" && want != modes {
		return immutable("accessModes", "access modes", want, "the access modes "+modes)
	}
	return nil
}

func modeNames(modes []corev1.PersistentVolumeAccessMode) string {
	var names []string
	for _, mode := range modes {
		names = append(names, string(mode))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

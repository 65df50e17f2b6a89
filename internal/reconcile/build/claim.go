// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

const (
	pathStorage = "spec.workload.storage"
	// PathClaim is the field that names an existing PVC.
	PathClaim = pathStorage + ".claimName"
)

// ClaimFact is the result of reading spec.workload.storage.claimName.
type ClaimFact struct {
	// PVC is the PVC, or nil if it does not exist.
	PVC *corev1.PersistentVolumeClaim
}

// AccessModes returns the access modes of the PVC.
func (f *ClaimFact) AccessModes() []corev1.PersistentVolumeAccessMode {
	if f.PVC == nil {
		return nil
	}
	return f.PVC.Spec.AccessModes
}

// OwnedBy reports whether the custom resource made the PVC and still owns it, so that deleting it deletes the PVC.
func (f *ClaimFact) OwnedBy(cr *v1alpha2.LlamaStackDistribution) bool {
	return f.PVC != nil && f.PVC.Name == names.PVCName(cr.Name) && metav1.IsControlledBy(f.PVC, cr)
}

// checkClaim reports a named PVC that is missing, or that is deleted with its owner.
func (r *report) checkClaim(in *Inputs) {
	name := objects.NamedClaim(&in.CR.Spec)
	if name == "" || in.Claim == nil {
		return
	}
	if in.Claim.PVC == nil {
		r.missingClaim(in, PathClaim, name, "create it, or remove claimName to let the operator create one")
		return
	}
	if owner := metav1.GetControllerOf(in.Claim.PVC); owner != nil && !in.Claim.OwnedBy(in.CR) {
		r.warn(problem.EphemeralState, PathClaim, fmt.Sprintf("PersistentVolumeClaim %s is deleted with its owner, %s %s",
			name, owner.Kind, owner.Name), "remove its owner reference if the data must outlive the owner")
	}
}

// missingClaim reports a PVC that does not exist.
func (r *report) missingClaim(in *Inputs, path, name, fix string) {
	r.Add(problem.Problem{
		Reason: problem.DependencyNotReady, Path: path,
		Detail: fmt.Sprintf("PersistentVolumeClaim not found: %s (namespace %s)", name, in.CR.Namespace), Fix: fix,
	})
}

// checkStorage checks the PVC. In v1alpha1, a size of zero means the default.
func (r *report) checkStorage(in *Inputs) {
	s := in.CR.Spec.Workload.Storage
	if s == nil {
		return
	}
	r.checkVolume(s, &in.Legacy)
	r.checkClaimFields(s)
	r.checkClaim(in)
	r.warnSharedClaim(in)
}

// checkClaimFields reports fields of a new PVC beside an existing one, as the schema does, which does not see edits
// through v1alpha1.
func (r *report) checkClaimFields(s *v1alpha2.PVCStorageSpec) {
	if name := ptr.Deref(s.StorageClassName, ""); name != "" {
		r.checkObjectName(pathStorage+".storageClassName", name, "a StorageClass")
	}
	if s.ClaimName == nil {
		return
	}
	r.checkObjectName(PathClaim, *s.ClaimName, "a PersistentVolumeClaim")
	for _, excluded := range []struct {
		name  string
		given bool
	}{
		{"size", s.Size != nil}, {"storageClassName", s.StorageClassName != nil}, {"accessModes", len(s.AccessModes) > 0},
		{"whenDeleted", ptr.Deref(s.WhenDeleted, "") == v1alpha2.WhenDeletedDelete},
	} {
		if excluded.given {
			r.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: pathStorage + "." + excluded.name, Type: field.ErrorTypeForbidden,
				Detail: "is not for the existing PVC in claimName, which the operator neither changes nor deletes",
				Fix:    "remove it, or remove claimName",
			})
		}
	}
}

// checkObjectName reports a name that no object of the kind can have.
func (r *report) checkObjectName(path, name, kind string) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		r.invalidField(path, name, "cannot be the name of "+kind, "write lower-case letters, digits, - and .")
	}
}

// warnSharedClaim warns of several pods with a PVC that only one node or one pod can mount.
func (r *report) warnSharedClaim(in *Inputs) {
	spec := &in.CR.Spec
	var modes []corev1.PersistentVolumeAccessMode
	if in.Claim != nil {
		modes = in.Claim.AccessModes()
	}
	named := objects.NamedClaim(spec) != ""
	if _, maxPods := objects.PodRange(spec); maxPods < 2 || objects.SharesData(spec, modes) || named && len(modes) == 0 {
		return // the access modes of a named PVC may be unknown
	}
	another := "set accessModes to [ReadWriteMany] in a new custom resource"
	if named {
		another = "use a PVC with the access mode ReadWriteMany"
	}
	r.warn(problem.EphemeralState, pathStorage,
		"the PVC can be mounted by one node at a time: pods on other nodes do not start, and an edit stops all pods "+
			"before it starts new ones",
		"use one replica; keep the state in spec.storage and remove it; or "+another)
}

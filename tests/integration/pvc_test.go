// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

func (e *env) claim(name string) *corev1.PersistentVolumeClaim {
	e.T.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	framework.NoError(e.T, e.Get(claim, name))
	return claim
}

// waitOwner waits until the PVC has the custom resource as its only owner, or no owner if owner is empty.
func (e *env) waitOwner(claim, owner string) {
	e.T.Helper()
	e.Eventually(fmt.Sprintf("the owner of %s", claim), func() error {
		owners := e.claim(claim).OwnerReferences
		if owner == "" && len(owners) == 0 || len(owners) == 1 && owners[0].Name == owner {
			return nil
		}
		return fmt.Errorf("it is owned by %v", owners)
	})
}

// deleteCR deletes a custom resource, and waits until its Deployment is deleted.
func (e *env) deleteCR(name string) {
	e.T.Helper()
	framework.NoError(e.T, suite.Admin.Delete(e.T.Context(), e.CR(name)))
	e.Eventually("the Deployment is deleted", func() error {
		if err := e.Get(&appsv1.Deployment{}, name); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading the Deployment: %w", err)
		}
		return nil
	})
}

// survives checks that a PVC is neither replaced nor being deleted.
func (e *env) survives(name string, uid types.UID) {
	e.T.Helper()
	if claim := e.claim(name); claim.UID != uid || claim.DeletionTimestamp != nil || len(claim.OwnerReferences) > 0 {
		e.T.Errorf("%s has the UID %s, want %s, is deleted at %v and owned by %v", name, claim.UID, uid, claim.DeletionTimestamp, claim.OwnerReferences)
	}
}

// Proves: R101 (a retained PVC outlives its custom resource, a new one of the same name uses it, and no edit replaces
// it).
func TestRetainedPVCIsUsedAgain(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	const retained = "distribution: {name: starter}\nworkload: {storage: {size: 2Gi, storageClassName: fast, accessModes: [ReadWriteMany], whenDeleted: Retain}}"
	e.Apply(framework.Manifest("kept", retained))
	e.WaitReady("kept")
	claim := e.claim("kept-pvc")
	if *claim.Spec.StorageClassName != "fast" || claim.Spec.AccessModes[0] != corev1.ReadWriteMany || len(claim.OwnerReferences) > 0 {
		t.Fatalf("the PVC is %+v, owned by %v", claim.Spec, claim.OwnerReferences)
	}
	if d := e.Deployment("kept"); d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("strategy %s", d.Spec.Strategy.Type)
	}
	e.deleteCR("kept")
	e.survives("kept-pvc", claim.UID)

	e.Apply(framework.Manifest("kept", "distribution: {name: starter}\nworkload: {storage: {}}"))
	e.WaitReady("kept")
	e.survives("kept-pvc", claim.UID)
	if size := e.claim("kept-pvc").Spec.Resources.Requests[corev1.ResourceStorage]; size.String() != "2Gi" {
		t.Errorf("the size is %s", size.String())
	}

	for _, patch := range []string{`{"workload":{"storage":{"storageClassName":"slow"}}}`, `{"workload":{"storage":{"storageClassName":"fast","accessModes":["ReadWriteOnce"]}}}`} {
		e.PatchSpec("kept", patch)
		message := e.WaitCondition("kept", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.ObjectRejected))
		if !strings.Contains(message, "nothing was changed") || !strings.Contains(message, "claimName") {
			t.Errorf("Ready: %s", message)
		}
	}
	e.survives("kept-pvc", claim.UID)

	e.PatchSpec("kept", `{"workload":{"storage":{"accessModes":null,"whenDeleted":"Delete"}}}`)
	e.WaitReady("kept")
	e.waitOwner("kept-pvc", "kept")
	e.PatchSpec("kept", `{"workload":{"storage":{"whenDeleted":"Retain"}}}`)
	e.waitOwner("kept-pvc", "")
	e.survives("kept-pvc", claim.UID)
}

// Proves: R101 (a named PVC is waited for, used and never deleted, even if the operator made it).
func TestNamedPVCIsNeverDeleted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("named", "distribution: {name: starter}\nworkload: {storage: {claimName: mine}}"))
	message := e.WaitCondition("named", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.DependencyNotReady))
	if !strings.Contains(message, "spec.workload.storage.claimName: PersistentVolumeClaim not found: mine") {
		t.Errorf("Ready: %s", message)
	}
	mine := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: e.Name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), mine))
	e.WaitReady("named")
	d := e.Deployment("named")
	if claim := d.Spec.Template.Spec.Volumes[0].PersistentVolumeClaim; claim == nil || claim.ClaimName != "mine" || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("claim %v, strategy %s", claim, d.Spec.Strategy.Type)
	}
	if err := e.Get(&corev1.PersistentVolumeClaim{}, "named-pvc"); !apierrors.IsNotFound(err) {
		t.Errorf("reading a PVC of the operator: %v", err)
	}
	e.deleteCR("named")
	e.survives("mine", mine.UID)

	e.Apply(framework.Manifest("made", "distribution: {name: starter}\nworkload: {storage: {size: 3Gi}}"))
	e.WaitReady("made")
	made := e.claim("made-pvc")
	e.waitOwner("made-pvc", "made")
	e.PatchSpec("made", `{"workload":{"storage":{"size":null,"claimName":"made-pvc"}}}`)
	e.waitOwner("made-pvc", "")
	e.WaitReady("made")
	e.deleteCR("made")
	e.survives("made-pvc", made.UID)
}

// Proves: R101, API-VAL (the API server refuses fields of a new PVC beside an existing one).
func TestClaimNameExcludesFieldsOfANewPVC(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for field, message := range map[string]string{
		"size: 1Gi": "claimName excludes", "storageClassName: fast": "claimName excludes", "accessModes: [ReadWriteMany]": "claimName excludes",
		"whenDeleted: Delete": "never deletes",
	} {
		out, err := e.TryApply(framework.Manifest("both", "distribution: {name: starter}\nworkload: {storage: {claimName: mine, "+field+"}}"))
		if err == nil || !strings.Contains(out+err.Error(), message) {
			t.Errorf("%s: %s, %v", field, out, err)
		}
	}
	e.Apply(framework.Manifest("both", "distribution: {name: starter}\nworkload: {storage: {claimName: mine, mountPath: /data, whenDeleted: Retain}}"))
}

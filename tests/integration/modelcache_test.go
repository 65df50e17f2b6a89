// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// cacheVolume returns the volume of the model cache in the Deployment, or nil.
func cacheVolume(d *appsv1.Deployment) *corev1.Volume {
	for i := range d.Spec.Template.Spec.Volumes {
		if v := &d.Spec.Template.Spec.Volumes[i]; v.Name == objects.ModelCacheVolume {
			return v
		}
	}
	return nil
}

// Proves: R107 (an image is mounted if the cluster's Kubernetes has image volumes, and otherwise refused by name).
func TestModelCacheIsAnImageVolume(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("cached", "distribution: {name: starter}\nworkload: {modelCache: {image: 'registry.example.com/ai/models:1'}}"))
	if out, err := suite.Cluster.KubectlRun(t.Context(), "explain", "pod.spec.volumes.image"); err != nil || !strings.Contains(out, "reference") {
		message := e.WaitCondition("cached", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, string(problem.ObjectRejected))
		for _, want := range []string{"spec.workload.modelCache", "unknown field", "upgrade the cluster"} {
			if !strings.Contains(message, want) {
				t.Errorf("message %q, want %q in it", message, want)
			}
		}
		if err := e.Get(&appsv1.Deployment{}, "cached"); !apierrors.IsNotFound(err) {
			t.Errorf("there is a Deployment: %v", err)
		}
		return
	}
	e.WaitReady("cached")
	d := e.Deployment("cached")
	if v := cacheVolume(d); v == nil || v.Image == nil || v.Image.Reference != "registry.example.com/ai/models:1" ||
		d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("volume %+v, strategy %s", v, d.Spec.Strategy.Type)
	}
}

// Proves: R107, API-VAL (a PVC is waited for and mounted read-only; with an image beside it, it is refused).
func TestModelCacheIsAnExistingPVC(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	const both = "distribution: {name: starter}\nworkload: {modelCache: {claimName: models, image: 'registry.example.com/ai/models:1'}}"
	for _, spec := range []string{both, "distribution: {name: starter}\nworkload: {modelCache: {}}"} {
		if out, err := e.TryApply(framework.Manifest("refused", spec)); err == nil || !strings.Contains(out+err.Error(), "give either image, or claimName") {
			t.Errorf("%s: %s, %v", spec, out, err)
		}
	}
	e.Apply(framework.Manifest("cached", "distribution: {name: starter}\nworkload: {modelCache: {claimName: models}}"))
	message := e.WaitCondition("cached", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.DependencyNotReady))
	if !strings.Contains(message, "spec.workload.modelCache.claimName: PersistentVolumeClaim not found: models") {
		t.Errorf("Ready: %s", message)
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "models", Namespace: e.Name}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}))
	e.WaitReady("cached")
	if v := cacheVolume(e.Deployment("cached")); v == nil || v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName != "models" || !v.PersistentVolumeClaim.ReadOnly {
		t.Errorf("volume %+v", v)
	}
	e.PatchSpec("cached", `{"workload":{"modelCache":null}}`)
	e.WaitReady("cached")
	if v := cacheVolume(e.Deployment("cached")); v != nil {
		t.Errorf("without the field, there is the volume %+v", v)
	}
}

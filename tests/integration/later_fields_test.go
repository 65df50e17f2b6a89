// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// A spec may set fields that this cluster's Kubernetes does not know, and that an API server silently drops from a new
// object, which turns a volume into an empty directory. If Kubernetes knows the field, the Deployment must have it.
//
// Proves: R61, R74.
func TestFieldsOfALaterKubernetesAreNotDropped(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("later", "distribution: {name: starter}\nworkload: {overrides: {volumes: [{name: models, image: {reference: registry.example.com/models:1}}]}}"))
	if out, err := suite.Cluster.KubectlRun(t.Context(), "explain", "pod.spec.volumes.image"); err == nil && strings.Contains(out, "reference") {
		e.WaitCondition("later", "DeploymentUpdated", metav1.ConditionTrue, "")
		d := &appsv1.Deployment{}
		framework.NoError(t, e.Get(d, "later"))
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.Name == "models" && v.Image != nil {
				return
			}
		}
		t.Fatalf("volumes %+v", d.Spec.Template.Spec.Volumes)
	}
	message := e.WaitCondition("later", "DeploymentUpdated", metav1.ConditionFalse, string(problem.ObjectRejected))
	for _, want := range []string{"spec.workload.overrides.volumes", "unknown field", "upgrade the cluster"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q, want %q in it", message, want)
		}
	}
	if err := e.Get(&appsv1.Deployment{}, "later"); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Deployment: %v", err)
	}
}

// An API server silently drops fields whose feature gate is off. The gate of this field is off by default in every
// release so far.
//
// Proves: R61, R74.
func TestFieldsWhoseFeatureGateIsOffAreNotDropped(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	const volumes = `distribution: {name: starter}
workload: {overrides: {volumes: [{name: trust, projected: {sources: [{clusterTrustBundle: {name: roots, path: ca.crt}}]}}]}}`
	refused := func(name string) {
		message := e.WaitCondition(name, "DeploymentUpdated", metav1.ConditionFalse, string(problem.ObjectRejected))
		for _, want := range []string{"spec.workload.overrides.volumes[0].projected.sources[0].clusterTrustBundle: ", "drops", "feature gate"} {
			if !strings.Contains(message, want) {
				t.Errorf("%s: message %q, want %q in it", name, message, want)
			}
		}
	}
	e.Apply(framework.Manifest("new", volumes))
	e.Apply(framework.Manifest("edited", "distribution: {name: starter}\nworkload: {replicas: 2}"))
	refused("new")
	if err := e.Get(&appsv1.Deployment{}, "new"); !apierrors.IsNotFound(err) {
		t.Errorf("there is a Deployment: %v", err)
	}
	e.WaitCondition("edited", "DeploymentUpdated", metav1.ConditionTrue, "")
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{}
	framework.NoError(t, e.Get(before, "edited"))
	e.Apply(framework.Manifest("edited", volumes))
	refused("edited")
	if err := e.Get(after, "edited"); err != nil || after.Generation != before.Generation {
		t.Errorf("the Deployment was written: generation %d, then %d, %v", before.Generation, after.Generation, err)
	}
}

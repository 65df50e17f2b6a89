// SPDX-License-Identifier: Apache-2.0

package release09_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

func deployment(annotations map[string]string, containers ...corev1.Container) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name, d.Annotations, d.Spec.Template.Spec.Containers = "my-stack", annotations, containers
	return d
}

// Proves: R78 (a Deployment without the build annotation is release 0.9's).
func TestIsUnadopted(t *testing.T) {
	if release09.IsUnadopted(nil) || release09.IsUnadopted(deployment(map[string]string{names.AnnotationBuild: "1"})) {
		t.Error("this operator's Deployment, or none, is taken for release 0.9's")
	}
	if !release09.IsUnadopted(deployment(nil)) {
		t.Error("a Deployment without a build is release 0.9's")
	}
}

// Proves: R78 (a status without conditions of this operator is release 0.9's).
func TestReported(t *testing.T) {
	conditions := func(kinds ...string) (list []metav1.Condition) {
		for _, kind := range kinds {
			list = append(list, metav1.Condition{Type: kind})
		}
		return list
	}
	for name, c := range map[string]struct {
		status v1alpha2.LlamaStackDistributionStatus
		want   bool
	}{
		"none":            {v1alpha2.LlamaStackDistributionStatus{}, false},
		"a phase":         {v1alpha2.LlamaStackDistributionStatus{Phase: v1alpha2.PhaseReady}, true},
		"conditions":      {v1alpha2.LlamaStackDistributionStatus{Conditions: conditions(v1alpha2.ConditionHealthCheck)}, true},
		"this operator's": {v1alpha2.LlamaStackDistributionStatus{Phase: v1alpha2.PhaseReady, Conditions: conditions(v1alpha2.ConditionReady)}, false},
	} {
		if got := release09.OwnsStatus(&c.status); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Proves: R48 (the server's container has release 0.9's image, which this operator's Deployment records).
func TestImage(t *testing.T) {
	left := deployment(nil, corev1.Container{Name: "sidecar", Image: "s"}, corev1.Container{Name: names.ContainerName, Image: "old:1"})
	for container, want := range map[string]string{"": "old:1", "sidecar": "s", "nobody": ""} {
		if got := release09.Image(left, container); got != want {
			t.Errorf("container %q: image %q, want %q", container, got, want)
		}
	}
	own := deployment(map[string]string{names.AnnotationBuild: "1", names.AnnotationAdoptedImage: "old:1"}, corev1.Container{Name: names.ContainerName, Image: "new:2"})
	if got := release09.Image(own, ""); got != "old:1" {
		t.Errorf("image %q", got)
	}
}

// Proves: R21 (names of release 0.9 never change).
func TestNames(t *testing.T) {
	if release09.RoleBindingName("a") != "a-rb" || release09.CABundleName("a") != "a-ca-bundle" {
		t.Error("the names of release 0.9")
	}
}

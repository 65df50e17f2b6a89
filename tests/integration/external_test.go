// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// external has a provider from an image of its own, whose package the entry describes.
const external = `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: packaged}
spec:
  distribution: {name: starter}
  externalProviders:
    inference:
    - providerId: tiny
      image: registry.example/tiny:1
      package: {packageName: tiny_provider, providerType: "remote::tiny"}
  workload: {overrides: {env: [%s]}}
`

// The API server takes the pod that installs an external provider, in a namespace that enforces the restricted Pod Security Standard. The operator finds
// its image in its own pod, and asks no registry.
//
// Proves: FR-014, FR-090, R46, R19 (a PYTHONPATH of the user's is refused, and what runs stays), R48 (the pod of others stays as it is).
func TestExternalProviderIsInThePod(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.startOperator(operatorOptions{})
	e.mustApply(fmt.Sprintf(external, ""))
	e.waitFor("packaged", v1alpha2.ConditionDeploymentUpdated, metav1.ConditionTrue, "")
	images := func() []string {
		var list []string
		for _, c := range e.deployment("packaged").Spec.Template.Spec.InitContainers {
			list = append(list, c.Name+" "+c.Image)
		}
		return list
	}
	want := []string{
		"prepare-providers " + operatorImage, "install-provider-tiny registry.example/tiny:1",
		"check-providers " + e.deployment("packaged").Spec.Template.Spec.Containers[0].Image,
	}
	if diff := cmp.Diff(want, images()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.mustApply(fmt.Sprintf(external, "{name: PYTHONPATH, value: /mine}"))
	message := e.waitFor("packaged", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.ConflictingFields))
	if !strings.Contains(message, "spec.workload.overrides.env[0]") || !strings.Contains(message, "PYTHONPATH") {
		t.Errorf("message %q", message)
	}
	if diff := cmp.Diff(want, images()); diff != "" {
		t.Errorf("after an edit that is refused (-want +got):\n%s", diff)
	}
	op.stop()
}

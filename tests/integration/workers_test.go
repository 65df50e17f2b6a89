// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R15, R21, R22 (a custom resource as release 0.9 knows it, with an image of its own and a number of workers, is admitted and runs; its
// status says what the number does not do).
func TestImageOfItsOwnWithWorkersRuns(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startValidation()
	e.startOperator(operatorOptions{})
	for name, workers := range map[string]string{"one": "1", "four": "4"} {
		text := manifest(name, "distribution: {image: 'registry.example/mine:latest'}\nworkload: {workers: "+workers+"}")
		text = strings.Replace(text, "metadata:\n", "metadata:\n"+`  annotations: {llamastack.io/conversion: '{"version":1,"origin":"v1alpha1"}'}`+"\n", 1)
		e.mustApply(text)
		e.waitReady(name)
		message := e.waitFor(name, v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonImageDefault)
		if got := strings.Contains(message, "spec.workload.workers: has no effect: image registry.example/mine:latest"); got != (name == "four") {
			t.Errorf("%s: message %q", name, message)
		}
		found := false
		for _, v := range e.deployment(name).Spec.Template.Spec.Containers[0].Env {
			found = found || v == corev1.EnvVar{Name: "LLS_WORKERS", Value: workers}
		}
		if !found {
			t.Errorf("%s: no variable with the number of workers", name)
		}
	}
}

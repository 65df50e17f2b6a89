// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: L-26, L-35 (a resource that the schema admits and Go's types cannot read reports that, and no other one suffers; what it ran before
// goes on).
func TestUnreadableResource(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const unreadable = "distribution: {name: starter}\nworkload: {resources: {limits: {memory: 1e1.5}}}"
	e.mustApply(manifest("worse", unreadable))
	e.startOperator(operatorOptions{})
	e.mustApply(manifest("good", "distribution: {name: starter}"))
	e.mustApply(manifest("turned", "distribution: {name: starter}"))
	e.waitReady("good")
	e.waitReady("turned")
	e.mustApply(manifest("turned", unreadable))
	for _, name := range []string{"worse", "turned"} {
		message := e.waitFor(name, v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.InvalidField))
		if !strings.Contains(message, "quantities must match") {
			t.Errorf("%s: %q", name, message)
		}
	}
	e.waitFor("turned", v1alpha2.ConditionAvailable, metav1.ConditionTrue, "")
	e.mustApply(manifest("good", "distribution: {name: starter}\nnetworking: {port: 8400}"))
	e.waitReady("good")
	e.mustApply(manifest("worse", "distribution: {name: starter}"))
	e.waitReady("worse")
}

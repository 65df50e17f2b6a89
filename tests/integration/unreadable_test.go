// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: L-26, L-35 (a resource that the schema admits and Go's types cannot decode reports that, affects no other
// resource, and keeps its server).
func TestUnreadableResource(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const unreadable = "distribution: {name: starter}\nworkload: {resources: {limits: {memory: 1e1.5}}}"
	e.Apply(framework.Manifest("worse", unreadable))
	e.StartOperator()
	e.Apply(framework.Manifest("good", "distribution: {name: starter}"))
	e.Apply(framework.Manifest("turned", "distribution: {name: starter}"))
	e.WaitReady("good")
	e.WaitReady("turned")
	e.Apply(framework.Manifest("turned", unreadable))
	for _, name := range []string{"worse", "turned"} {
		message := e.WaitCondition(name, v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.InvalidField))
		if !strings.Contains(message, "quantities must match") {
			t.Errorf("%s: %q", name, message)
		}
	}
	e.WaitCondition("turned", v1alpha2.ConditionAvailable, metav1.ConditionTrue, "")
	e.Apply(framework.Manifest("good", "distribution: {name: starter}\nnetworking: {port: 8400}"))
	e.WaitReady("good")
	e.Apply(framework.Manifest("worse", "distribution: {name: starter}"))
	e.WaitReady("worse")
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: L-19, L-34 (a list of namespaces limits the operator; without one it watches all).
func TestNamespaces(t *testing.T) {
	watched, other := newEnv(t), newEnv(t)
	for _, e := range []*env{watched, other} {
		e.mustApply(manifest("bare", "distribution: {name: starter}"))
	}
	op := watched.startOperator(operatorOptions{})
	watched.waitReady("bare")
	if s := other.resource("bare").Status; s.Phase != "" {
		t.Errorf("a resource in another namespace was touched: %+v", s)
	}
	op.stop()
	watched.startOperator(operatorOptions{namespaces: []string{}})
	other.waitFor("bare", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

func TestMain(m *testing.M) { suite.Main(m, suite.Integration) }

type env struct{ suite.Env }

func newEnv(t *testing.T) *env {
	t.Helper()
	return &env{*suite.NewEnv(t)}
}

// newEnvWithSettings returns an env whose operator has its settings in the test's own namespace.
func newEnvWithSettings(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	e.OperatorNamespace = e.Name
	return e
}

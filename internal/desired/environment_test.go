// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The engine has its own list of the variables that every container has. What the operator sets whatever the spec says, and the list lacks, would be
// reported as a variable that nothing sets.
//
// Proves: FR-022 (a reference to a variable that the operator always sets brings no warning; one to a variable that nothing sets does).
func TestVariablesOfEveryContainerAreKnownToTheEngine(t *testing.T) {
	in := inputs(t, "simple")
	made := build(t, in)
	var always []string
	for _, v := range deployment(t, made.Objects).Spec.Template.Spec.Containers[0].Env {
		if !slices.ContainsFunc(made.Config.Env, func(of config.EnvVar) bool { return of.Name == v.Name }) {
			always = append(always, v.Name)
		}
	}
	for _, known := range []string{"HOME", "HF_HOME", "SQLITE_STORE_DIR", "FILES_STORAGE_DIR", "MILVUS_DB_PATH", "RUN_CONFIG_PATH"} {
		if !slices.Contains(always, known) {
			t.Errorf("the container has no %s: %v", known, always)
		}
	}
	warned := func(name string) bool {
		in := inputs(t, "simple")
		in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: open(`{"provider":"vllm","endpoint":"http://vllm:8000","settings":{"api_token":"${env.` + name + `}"}}`)}
		d, faults := try(t.Context(), in)
		if len(faults) > 0 {
			t.Fatalf("%s: %s", name, faults.Message())
		}
		return slices.ContainsFunc(d.Warnings, func(p problem.Problem) bool { return p.Reason == problem.UndefinedVariable })
	}
	for _, name := range always {
		if warned(name) {
			t.Errorf("the operator always sets %s, and the engine does not know it: put it into alwaysSet of pkg/config/integrity", name)
		}
	}
	if !warned("NOBODY_SETS_THIS") {
		t.Error("no warning of a variable that nothing sets")
	}
}

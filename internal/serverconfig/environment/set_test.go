// SPDX-License-Identifier: Apache-2.0

package environment_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Proves: R36, R37 (only variables that are certainly set count; to the server an empty one is unset).
func TestSetContainsGivenVariables(t *testing.T) {
	set := environment.NewSet(&v1alpha2.LlamaStackDistributionSpec{Workload: &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{
		Env: []corev1.EnvVar{{Name: "PLAIN", Value: "x"}, {Name: "EMPTY"}, {Name: "FROM", ValueFrom: &corev1.EnvVarSource{}}},
	}}})
	given := func() []string { return slices.Sorted(maps.Keys(set.Given())) }
	if diff := cmp.Diff([]string{"FROM", "PLAIN"}, given()); diff != "" {
		t.Errorf("of the user:\n%s", diff)
	}
	set.Add(environment.Variable{Name: "EMPTY"}, environment.Variable{Name: "PLAIN"}, environment.Variable{Name: "KEY"})
	if diff := cmp.Diff([]string{"EMPTY", "FROM", "KEY", "PLAIN"}, given()); diff != "" {
		t.Errorf("with what is needed:\n%s", diff)
	}
	set.Remove(map[string]bool{"EMPTY": true, "PLAIN": true})
	if diff := cmp.Diff([]string{"FROM", "KEY", "PLAIN"}, given()); diff != "" {
		t.Errorf("with what the user replaces:\n%s", diff)
	}
	if len(set.Needed()) != 1 || set.Needed()[0].Name != "KEY" {
		t.Errorf("needed: %+v", set.Needed())
	}
}

// A variable can refer to earlier ones, so variables from Secrets come first.
func TestSetSortsSecretsFirst(t *testing.T) {
	set := environment.NewSet(&v1alpha2.LlamaStackDistributionSpec{})
	ref := parse.SecretReference{Name: "keys", Key: "k"}
	set.Add(environment.Variable{Name: "A", Value: "$(Z)"}, environment.Variable{Name: "Z", Ref: ref}, environment.Variable{Name: "B", Ref: ref})
	set.Sort()
	var names []string
	for _, v := range set.Needed() {
		names = append(names, v.Name)
	}
	if diff := cmp.Diff([]string{"B", "Z", "A"}, names); diff != "" {
		t.Error(diff)
	}
}

// Variable names have only letters, digits and underscores.
//
// Proves: FR-022, R6, R34.
func TestNameReplacesInvalidCharacters(t *testing.T) {
	for in, want := range map[string]string{
		"vllm": "VLLM", "azAZ09": "AZAZ09", "a.b-c_d/e": "A_B_C_D_E", "@[`{": "____", "ä€": "__",
	} {
		if got := environment.Name(in, "api_key"); got != "LLSD_"+want+"_API_KEY" {
			t.Errorf("Name(%q) = %s", in, got)
		}
	}
}

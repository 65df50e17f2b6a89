// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FR-022, FR-075.
func TestReferencesToVariablesOfTheOperatorCauseNoWarning(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Inputs)
		sets   []string
	}{
		"plain": {func(*Inputs) {}, []string{
			"HOME", "HF_HOME", "SQLITE_STORE_DIR", "FILES_STORAGE_DIR", "MILVUS_DB_PATH", "RUN_CONFIG_PATH", "LLAMA_STACK_PORT",
		}},
		"with CA certificates": {func(in *Inputs) {
			in.CABundle = &CABundleFact{Namespace: in.CR.Namespace, Name: "ca", Data: map[string]string{"ca.crt": string(framework.NewCA(t).PEM)}}
		}, []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "AWS_CA_BUNDLE"}},
	} {
		in := func(variable string) *Inputs {
			in := inputs(t, "simple")
			c.change(in)
			in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: open(`{"provider":"vllm","endpoint":"http://vllm:8000","settings":{"api_token":"${env.` + variable + `}"}}`)}
			return in
		}
		warned := func(variable string) bool {
			d, faults := buildWith(t.Context(), in(variable))
			if len(faults) > 0 {
				t.Fatalf("%s, %s: %s", name, variable, faults.Message())
			}
			return slices.ContainsFunc(d.Warnings, func(p problem.Problem) bool { return p.Reason == problem.UndefinedVariable })
		}
		var set []string
		for _, v := range deployment(t, build(t, in("HOME")).Objects).Spec.Template.Spec.Containers[0].Env {
			if set = append(set, v.Name); warned(v.Name) {
				t.Errorf("%s: the operator sets %s, and warns that nothing does", name, v.Name)
			}
		}
		for _, variable := range c.sets {
			if !slices.Contains(set, variable) {
				t.Errorf("%s: the container has no %s: %v", name, variable, set)
			}
		}
		if !warned("NOBODY_SETS_THIS") {
			t.Errorf("%s: no warning of a variable that nothing sets", name)
		}
	}
	if in := inputs(t, "simple"); slices.Contains(in.variables(), "SSL_CERT_FILE") {
		t.Errorf("without CA certificates, the container has %v", in.variables())
	}
}

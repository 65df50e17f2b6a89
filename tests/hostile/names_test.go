// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const keyed = `,"providers":{"inference":{"id":"vllm","provider":"vllm","endpoint":"http://vllm:8000","apiKey":{"name":"keys","key":"token"}}}`

// nameInputs are names that equal the value of a Secret.
func nameInputs() []input {
	const refused = "has a value from a Secret"
	named := func(name, resources string) input {
		return spec("v1alpha2", name, starter+keyed+`,"resources":{`+resources+`}`, refused)
	}
	overridden := func(name, resources, overrides string) input {
		return spec("v1alpha2", name, starter+keyed+`,"resources":{`+resources+`},"workload":{"overrides":{`+overrides+`}}`, refused)
	}
	const model = `"models":["${env.X}"]`
	return []input{
		named("model called like a Secret", `"models":["${env.LLSD_VLLM_API_KEY}"]`),
		named("model called like a Secret by default", `"models":["a-${env.LLSD_VLLM_API_KEY:=b}"]`),
		named("model called like a Secret within a default", `"models":["${env.A:=${env.LLSD_VLLM_API_KEY}}"]`),
		named("model of a Secret's name at its server", `"models":[{"name":"a","providerModelId":"${env.LLSD_VLLM_API_KEY}"}]`),
		named("model with a Secret in its metadata", `"models":[{"name":"a","metadata":{"b":[{"c":"${env.LLSD_VLLM_API_KEY}"}]}}]`),
		named("shield of a Secret", `"shields":[{"id":"${env.LLSD_VLLM_API_KEY}","provider":"llama-guard"}]`),
		overridden("model called like a variable of a Secret", model, `"env":[{"name":"X","valueFrom":{"secretKeyRef":{"name":"keys","key":"token"}}}]`),
		overridden("model called like an expanded variable", model, `"env":[{"name":"X","value":"$(LLSD_VLLM_API_KEY)"}]`),
		{name: "model called like a key of envFrom", want: []string{refused}, send: func(t *testing.T, w *world) (string, error) {
			w.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "keys"}, StringData: map[string]string{
				"token": w.canaries.New(), "X": w.canaries.New(),
			}})
			const id = "h-env-from"
			return w.send(t, "v1alpha2", namespace, id,
				resource("v1alpha2", id, starter+keyed+`,"resources":{`+model+`},"workload":{"overrides":{"envFrom":[{"secretRef":{"name":"keys"}}]}}`), refused)
		}},
	}
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// expectProblems builds a spec of release line 0.7, and expects these problems.
func expectProblems(t *testing.T, name, spec, annotation, want string) {
	t.Helper()
	in := inputsOf(t, "distribution: {name: starter}\n"+spec, annotation)
	refreshPods(in)
	findSecrets(t, in)
	_, problems := Build(t.Context(), in)
	found := &problem.Collector{}
	found.AddAll(problems)
	step.Problems(t, name, found, want)
}

// Proves: R25, R74.
func TestDoubtfulAddressesGetAWarning(t *testing.T) {
	const provider, cluster = "Warning NoEffect spec.providers.inference.", "providers: {inference: {provider: vllm, endpoint: 'http://vllm.ai.svc:8000'}}\n"
	const proxy, proxied = "workload: {overrides: {env: [{name: HTTP_PROXY, value: 'http://proxy:3128'}", "Warning MissingField spec.workload.overrides.env[0]\n"
	for name, c := range map[string]struct{ spec, want string }{
		"a Service":                                {cluster, ""},
		"localhost":                                {"providers: {inference: {provider: vllm, endpoint: 'http://localhost:8000'}}", provider + "endpoint\n"},
		"127.0.0.1 in settings":                    {"providers: {inference: {provider: vllm, settings: {base_url: 'http://127.0.0.1:8000/v1'}}}", provider + "settings.base_url\n"},
		"an IPv6 address":                          {"providers: {inference: {provider: vllm, endpoint: 'http://[::1]:8000'}}", provider + "endpoint\n"},
		"every address":                            {"providers: {inference: {provider: vllm, endpoint: 'http://0.0.0.0:8000'}}", provider + "endpoint\n"},
		"a placeholder":                            {"providers: {inference: {provider: vllm, endpoint: 'http://<your-vllm>:8000/v1'}}", "Warning InvalidField spec.providers.inference.endpoint\n"},
		"a name that begins so":                    {"providers: {inference: {provider: vllm, endpoint: 'http://localhost.example.com'}}", ""},
		"a tool on localhost":                      {"resources: {tools: [{name: 'mcp::a', endpoint: 'http://localhost:9000/mcp'}]}\nproviders: {toolRuntime: {provider: model-context-protocol}}", "Warning NoEffect spec.resources.tools[0].endpoint\n"},
		"Redis on localhost":                       {"storage: {kv: {type: redis, endpoint: 'localhost:6379'}}", "Warning NoEffect spec.storage.kv.endpoint\n"},
		"localhost with a sidecar":                 {"providers: {inference: {provider: vllm, endpoint: 'http://localhost:8000'}}\nworkload: {podMetadata: {annotations: {sidecar.example.com/inject: 'true'}}}", ""},
		"localhost with a program of one's own":    {"providers: {inference: {provider: vllm, endpoint: 'http://localhost:8000'}}\nworkload: {overrides: {command: [run-both]}}", ""},
		"a proxy":                                  {cluster + proxy + "]}}", ""},
		"a proxy for https only":                   {cluster + "workload: {overrides: {env: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}]}}", ""},
		"a proxy for all":                          {cluster + "workload: {overrides: {env: [{name: ALL_PROXY, value: 'http://proxy:3128'}]}}", ""},
		"a proxy without a value":                  {cluster + "workload: {overrides: {env: [{name: HTTP_PROXY, value: ''}]}}", ""},
		"a proxy and nothing in the cluster":       {"providers: {inference: {provider: vllm, endpoint: 'http://vllm.example.com'}}\n" + proxy + "]}}", ""},
		"a proxy and an address of a variable":     {"providers: {inference: {provider: vllm, endpoint: 'http://${env.VLLM_HOST}:8000'}}\nworkload: {overrides: {env: [{name: HTTP_PROXY, value: 'http://proxy:3128'}, {name: VLLM_HOST, value: vllm.example.com}]}}", ""},
		"a proxy with exceptions":                  {cluster + proxy + ", {name: NO_PROXY, value: 'localhost,.svc'}]}}", ""},
		"a proxy with exceptions in lower case":    {cluster + proxy + ", {name: no_proxy, value: '*.svc'}]}}", ""},
		"a proxy with all excepted":                {cluster + proxy + ", {name: no_proxy, value: '*'}]}}", ""},
		"a proxy with exceptions from a ConfigMap": {cluster + proxy + ", {name: no_proxy, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}}", ""},
		"a proxy with other exceptions":            {cluster + proxy + ", {name: NO_PROXY, value: 'localhost,svc.cluster.local'}]}}", proxied},
		"a proxy with unknown variables":           {cluster + strings.Replace(proxy, "env:", "envFrom: [{configMapRef: {name: c}}], env:", 1) + "]}}", ""},
		"a proxy and a short name":                 {"providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}\n" + proxy + "]}}", ""},
		"a proxy and the API server":               {"auth: {provider: kubernetes}\nworkload: {overrides: {env: [{name: HTTPS_PROXY, value: 'http://proxy:3128'}]}}", ""},
		"verification off by a variable":           {"workload: {overrides: {env: [{name: VLLM_URL, value: 'https://vllm'}, {name: VLLM_TLS_VERIFY, value: 'False'}]}}", "Warning Unprotected spec.workload.overrides.env[1]\n"},
		"verification off without TLS":             {"workload: {overrides: {env: [{name: VLLM_URL, value: 'http://vllm'}, {name: VLLM_TLS_VERIFY, value: 'false'}]}}", ""},
		"verification on":                          {"workload: {overrides: {env: [{name: VLLM_URL, value: 'https://vllm'}, {name: VLLM_TLS_VERIFY, value: 'true'}]}}", ""},
	} {
		expectProblems(t, name, c.spec, "", c.want)
	}
}

// Proves: R25, R73, R74.
func TestDoubtfulPodsGetAWarning(t *testing.T) {
	const memory, workers = "Warning InvalidField spec.workload.resources.limits.memory\n", "Warning NoEffect spec.workload.workers\n"
	const stores, port = "Warning EphemeralState spec.workload.workers\n", "spec.workload.overrides.env[0]\n"
	for name, c := range map[string]struct{ spec, want string }{
		"a key in the spec":                 {"workload: {overrides: {env: [{name: OPENAI_API_KEY, value: sk-0123456789abcdef}]}}", "Warning LiteralSecret spec.workload.overrides.env[0].value\n"},
		"no key":                            {"workload: {overrides: {env: [{name: VLLM_API_TOKEN, value: fake}, {name: MAX_TOKENS, value: '0123456789abcdef'}, {name: A_TOKEN, value: $(ANOTHER_VARIABLE)}]}}", ""},
		"enough memory":                     {"workload: {resources: {limits: {memory: 512Mi}}}", ""},
		"too little memory":                 {"workload: {resources: {limits: {memory: 128Mi}}}", memory},
		"bytes":                             {"workload: {resources: {limits: {memory: 2}}}", memory},
		"too little for its workers":        {"disabled: [vectorIo, responses, eval, toolRuntime]\nworkload: {workers: 4, resources: {limits: {memory: 512Mi}, requests: {cpu: 1}}}", memory},
		"workers":                           {"disabled: [vectorIo, responses, eval, toolRuntime]\nworkload: {workers: 2}", workers},
		"workers and vector stores":         {"workload: {workers: 2}", stores + workers},
		"workers and Milvus in files":       {"disabled: [responses, eval]\nproviders: {vectorIo: [{id: faiss, provider: 'inline::milvus'}, {id: sqlite-vec, provider: qdrant, endpoint: 'http://q'}]}\nworkload: {workers: 2}", stores + workers},
		"workers and remote stores":         {"disabled: [responses, eval]\nproviders: {vectorIo: [{id: faiss, provider: qdrant, endpoint: 'http://q'}, {id: sqlite-vec, provider: qdrant, endpoint: 'http://q'}]}\nworkload: {workers: 2}", workers},
		"its own port":                      {"workload: {overrides: {env: [{name: LLAMA_STACK_PORT, value: '8321'}]}}", "Warning ConflictingFields " + port},
		"another port":                      {"workload: {overrides: {env: [{name: LLAMA_STACK_PORT, value: '9000'}]}}", "Warning ConflictingFields " + port},
		"a port that it does not read":      {"workload: {overrides: {env: [{name: OGX_PORT, value: '9000'}]}}", "Warning NoEffect " + port},
		"a port for a program of one's own": {"workload: {overrides: {command: [run], env: [{name: OGX_PORT, value: '9000'}]}}", ""},
		"several replicas":                  {"workload: {replicas: 2}", "Warning EphemeralState spec.workload.replicas\n"},
	} {
		expectProblems(t, name, c.spec, "", c.want)
	}
}

// Proves: R33, R74.
func TestEmptyVariableFromASecretGetsAWarning(t *testing.T) {
	for content, want := range map[string]string{"": "Warning InvalidSecret spec.workload.overrides.env[0].valueFrom.secretKeyRef\n", "x": ""} {
		in := inputsOf(t, "distribution: {name: starter}\nworkload: {overrides: {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}}", "")
		for _, ref := range in.ReferencesOfPods() {
			AddPodReference(in, ref, Lookup{}, map[string][]byte{"k": []byte(content)})
		}
		_, problems := Build(t.Context(), in)
		found := &problem.Collector{}
		found.AddAll(problems)
		step.Problems(t, "content_"+content, found, want)
	}
	in := inputsOf(t, "distribution: {name: starter}", "")
	AddPodReference(in, objects.Reference{Kind: objects.KindSecret, Path: "spec.workload.overrides.volumes[0].secret"}, Lookup{}, map[string][]byte{"k": nil})
	if _, problems := Build(t.Context(), in); len(problems) > 0 {
		t.Errorf("a file may be empty: %s", problems.Message())
	}
}

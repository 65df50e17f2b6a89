// SPDX-License-Identifier: Apache-2.0

package ogx_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/ogx"
	"github.com/llamastack/llama-stack-k8s-operator/tests/leaves"
)

// Proves: R98 (each field of LlamaStackDistribution is converted, or lost with a way to keep it).
func TestEveryFieldOfDistributionIsConvertedOrLost(t *testing.T) {
	name := "starter"
	fields := leaves.All(t)
	delete(fields, "spec.distribution{}") // required, and has a value in the example
	for path, set := range fields {
		t.Run(path, func(t *testing.T) {
			spec := v1alpha2.LlamaStackDistributionSpec{Distribution: v1alpha2.DistributionSpec{Name: &name}}
			without, _ := from(objectOf(t, &spec))
			set(&spec)
			if path == "spec.distribution.image" {
				spec.Distribution.Name = nil
			}
			with, findings := from(objectOf(t, &spec))
			if refused := ogx.Refused(with); len(refused) > 0 {
				t.Errorf("the API server refuses %v", refused)
			}
			isEmpty := strings.HasSuffix(path, "{}") && !slices.Contains([]string{
				"spec.workload.storage{}", "spec.workload.podDisruptionBudget{}", "spec.storage.kv{}", "spec.storage.sql{}",
			}, path)
			if cmp.Diff(with, without) == "" && len(lost(findings)) == 0 && !isEmpty && path != "spec.distribution.name" &&
				path != "spec.networking.tls.enabled" {
				t.Errorf("neither converted nor lost")
			}
			for _, f := range findings {
				if f.Detail == "" || f.Fix == "" || f.Fix == "keep it in a LlamaStackDistribution" {
					t.Errorf("the table has no row for %+v", f)
				}
			}
		})
	}
}

func objectOf(t *testing.T, spec *v1alpha2.LlamaStackDistributionSpec) map[string]any {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "s"}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// Proves: R22, R98 (the server is the same after the way there and back).
func TestWhatBothKindsCanSayComesBack(t *testing.T) {
	for name, spec := range map[string]string{
		"models": `
  providers:
    inference:
    - {id: own, provider: vllm, endpoint: "http://vllm:8000"}
    - {id: big, provider: together, apiKey: {name: keys, key: together}}
  resources: {models: [m, {name: other, provider: big, modelType: llm, contextLength: 8192, quantization: fp8}]}`,
		"models of the base": `
  resources: {models: [{name: gpt-4o, provider: openai, modelType: llm}]}`,
		"override": `
  overrideConfig: {configMapName: config}`,
		"names of APIs": `
  disabled: [toolRuntime, fileProcessors, batches, vector_io, responses, batches]`,
		"exposed with TLS": `
  networking: {port: 9000, tls: {enabled: true, secretName: tls}, expose: {enabled: true, hostname: llama.example.com}}`,
		"exposed": `
  networking: {expose: true}`,
		"not exposed": `
  networking: {expose: {enabled: false, hostname: llama.example.com}}`,
		"allowed namespaces": `
  networking: {allowedFrom: {namespaces: [a, "*"], labels: [team]}}`,
		"CA bundle": `
  networking: {tls: {caBundle: {configMapName: ca}}}`,
		"empty backends": `
  storage: {kv: {}, sql: {}}`,
		"one empty backend": `
  storage: {kv: {type: redis, endpoint: "redis:6379", password: {name: keys, key: redis}}, sql: {}}`,
		"metrics off": `
  monitoring: {metricsPort: 9000}`,
		"metrics": `
  monitoring: {enabled: true}`,
		"least replicas": `
  workload: {autoscaling: {minReplicas: 1, maxReplicas: 4}}`,
		"region": `
  providers: {inference: {id: a, provider: bedrock, region: us-east-1, apiKey: {name: keys, key: aws}}}`,
		"empty budget": `
  workload: {replicas: 3, podDisruptionBudget: {}, autoscaling: {minReplicas: 0, maxReplicas: 4}}`,
		"budget": `
  workload: {podDisruptionBudget: {minAvailable: 50%}}`,
		"empty values": `
  disabled: []
  storage: {}
  networking: {expose: null, allowedFrom: {namespaces: []}}
  workload: {overrides: {env: [], args: [], serviceAccountName: ""}, topologySpreadConstraints: []}`,
		"devices": `
  workload:
    resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
    resources: {requests: {cpu: "2", memory: 1Gi}, limits: {nvidia.com/gpu: 1}, claims: [{name: gpu}]}`,
		"PVC": `
  workload: {storage: {size: 20Gi, mountPath: /data}}`,
		"PVC at the default of the other kind": `
  workload: {storage: {mountPath: /.ogx}}`,
		"settings that typed lists do not have": `
  providers:
    inference:
    - {id: a, provider: vllm, endpoint: "http://vllm:8000", settings: {max_tokens: 0, network: {timeout: 2.5, tls: {verify: /etc/ca.pem}, headers: {X-Team_a.b: c}}}}
    - {id: b, provider: openai, apiKey: {name: keys, key: openai}, settings: {allowed_models: []}}
    vectorIo:
    - {id: c, provider: pgvector, endpoint: "db:5432", secretRefs: {password: {name: keys, key: db}}, settings: {vector_index: {type: HNSW, m: 32}}}
    - {id: d, provider: pgvector, endpoint: "db:5432", secretRefs: {password: {name: keys, key: db}}, settings: {vector_index: {type: IVFFlat, lists: 50, probes: 5}}}
    - {id: e, provider: "inline::faiss"}
    toolRuntime:
    - {id: f, provider: file-search, settings: {vector_stores_config: {chunk_retrieval_params: {rrf_impact_factor: 60.5, default_search_mode: hybrid, weighted_search_alpha: 1}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			object := tree(t, header+"  distribution: {name: starter}"+spec)
			there, findings := from(object)
			if refused := ogx.Refused(there); len(refused) > 0 || len(lost(findings)) > 0 {
				t.Errorf("refused: %v, lost: %v", refused, findings)
			}
			back, findings := to(there)
			if len(lost(findings)) > 0 {
				t.Errorf("lost on the way back: %v", findings)
			}
			if diff := cmp.Diff(configuration(t, object), configuration(t, back)); diff != "" {
				t.Errorf("another server (-before +after):\n%s", diff)
			}
			again, _ := from(back)
			if diff := cmp.Diff(there, again); diff != "" {
				t.Errorf("another OGXServer (-first +second):\n%s", diff)
			}
		})
	}
}

// Proves: R98 (the API server accepts the result; what it would refuse is lost, under its own path).
func TestTheAPIServerAcceptsTheResult(t *testing.T) {
	for spec, want := range map[string][]string{
		"workload: {overrides: {args: [--quiet, '']}}": {"spec.workload.overrides.args[1]"},
		"workload: {overrides: {args: ['', a, ''], command: ['']}}": {
			"spec.workload.overrides.args[0]", "spec.workload.overrides.args[2]", "spec.workload.overrides.command[0]"},
		"disabled: [inference, files, tool_runtime]\n  providers: {inference: {provider: ollama}, toolRuntime: {id: b, provider: bing-search}}": {
			"spec.disabled", "spec.disabled"},
		"workload: {overrides: {args: ['']}}":                                                                 {"spec.workload.overrides.args[0]"},
		"workload: {autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 150}}":                      {"spec.workload.autoscaling.targetCPUUtilizationPercentage"},
		"workload: {autoscaling: {minReplicas: 2}}":                                                           {"spec.workload.autoscaling"},
		"workload: {autoscaling: {minReplicas: 4, maxReplicas: 3}}":                                           {"spec.workload.autoscaling.minReplicas"},
		"workload: {podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}":                               {"spec.workload.podDisruptionBudget.maxUnavailable"},
		"workload: {storage: {size: 0}}":                                                                      {"spec.workload.storage.size"},
		"workload: {resources: {limits: {nvidia.com/gpu: many}}}":                                             {"spec.workload.resources.limits[nvidia.com/gpu]"},
		"disabled: [eval, inference]":                                                                         {"spec.disabled[0]"},
		"disabled: [agents, responses]":                                                                       nil,
		"disabled: [inference]\n  providers: {inference: {provider: ollama}}":                                 {"spec.disabled"},
		"storage: {kv: {type: sqlite, endpoint: 'redis:6379'}}":                                               {"spec.storage.kv.endpoint"},
		"storage: {kv: {type: redis}}":                                                                        {"spec.storage.kv"},
		"storage: {sql: {type: postgres, connectionString: {name: a, key: -b}}}":                              {"spec.storage.sql.connectionString.key"},
		"networking: {tls: {enabled: true, secretName: ''}}":                                                  {"spec.networking.tls.secretName"},
		"networking: {expose: {hostname: a, className: b, tls: {secretName: c}}}":                             {"spec.networking.expose.className", "spec.networking.expose.tls"},
		"networking: {expose: {hostname: a, weight: 10}}":                                                     {"spec.networking.expose.weight"},
		"networking: {expose: {enabled: a, hostname: true}}":                                                  {"spec.networking.expose.enabled", "spec.networking.expose.hostname"},
		"networking: {expose: sometimes}":                                                                     {"spec.networking.expose"},
		"providers: {inference: {provider: other::x}}":                                                        {"spec.providers.inference"},
		"providers: {inference: {provider: 'remote::x', apiKey: {name: a, key: -b}}}":                         {"spec.providers.inference"},
		"resources: {models: [{name: m, modelType: embedding, embeddingDimension: 3}]}":                       {"spec.resources.models[0].embeddingDimension"},
		"resources: {models: [{name: m, providerModelId: o, metadata: {a: b}}], tools: [a]}":                  {"spec.resources.models[0].metadata", "spec.resources.models[0].providerModelId", "spec.resources.tools"},
		"resources: {models: [{name: m, color: red}, other]}":                                                 {"spec.resources.models[0].color"},
		"resources: {models: [{name: m, provider: p}]}\n  providers: {vectorIo: {provider: 'inline::faiss'}}": {"spec.resources.models[0]"},
	} {
		t.Run(spec, func(t *testing.T) {
			there, findings := from(tree(t, header+"  distribution: {name: starter}\n  "+spec))
			if refused := ogx.Refused(there); len(refused) > 0 {
				t.Errorf("the API server refuses %v", refused)
			}
			if diff := cmp.Diff(want, lost(findings)); diff != "" {
				t.Errorf("lost (-want +got):\n%s\n%v", diff, findings)
			}
		})
	}
}

const ogxHeader = "apiVersion: ogx.io/v1beta1\nkind: OGXServer\nmetadata: {name: s, namespace: own}\nspec:\n  distribution: {name: starter}\n"

// Proves: R98, R104 (rules for egress are written out there, and are further rules here).
func TestEgressIsConverted(t *testing.T) {
	const rule = "{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}"
	for text, want := range map[string]string{
		"egress: {mode: Providers}":                             "{enabled: true, policyTypes: [Egress], egress: [" + rule + "]}",
		"egress: {mode: Providers}, allowedFrom: {labels: [x]}": "{enabled: true, policyTypes: [Ingress, Egress], egress: [" + rule + "], ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: x, operator: Exists}]}}], ports: [{port: 8321, protocol: TCP}]}]}",
		"egress: {mode: Open}":                                  "{enabled: false}",
	} {
		rules := []any{tree(t, rule)}
		there, _ := ogx.From(tree(t, header+"  distribution: {name: starter}\n  networking: {"+text+"}"), ogx.Surroundings{Egress: rules})
		got, _, _ := unstructured.NestedMap(there, "spec", "network", "policy")
		if diff := cmp.Diff(tree(t, want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	back, findings := to(tree(t, ogxHeader+"  network: {policy: {egress: ["+rule+"]}}\n"))
	got, _, _ := unstructured.NestedMap(back, "spec", "networking", "egress")
	if diff := cmp.Diff(tree(t, "{mode: Providers, to: ["+rule+"]}"), got); diff != "" || len(lost(findings)) > 0 {
		t.Errorf("back (-want +got):\n%s\n%v", diff, findings)
	}
}

// Proves: R98 (rules for whole namespaces and the server's port become allowedFrom).
func TestPoliciesBecomeAllowedFrom(t *testing.T) {
	const a = "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}"
	for policy, c := range map[string]struct {
		want string
		lost []string
	}{
		"policy: {}":               {"{namespaces: [own]}", nil},
		"policy: {enabled: true}":  {"{namespaces: [own]}", nil},
		"policy: {enabled: false}": {"", nil},
		"port: 8321":               {"{namespaces: [own]}", nil},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{protocol: TCP, port: 8321}]}]}":                                                                       {"{namespaces: [a]}", nil},
		"policy: {policyTypes: [Ingress], ingress: [{from: [{" + a + "}], ports: [{port: 8321}]}]}":                                                              {"{namespaces: [a]}", nil},
		"policy: {ingress: [{from: [{" + a + "}]}]}\n    port: 9000":                                                                                             {"{namespaces: [a]}", nil},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{port: 9000}]}]}\n    port: 9000":                                                                      {"{namespaces: [a]}", nil},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{port: 9000}]}]}":                                                                                      {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0]"}},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{port: 8321, endPort: 9000}]}]}":                                                                       {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0]"}},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{port: 8321}, {port: 9464}]}]}":                                                                        {"{namespaces: [a]}", []string{"spec.network.policy.ingress[0].ports[1]"}},
		"policy: {ingress: [{ports: [{port: 8321}]}]}":                                                                                                           {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0]"}},
		"policy: {ingress: [{from: [{" + a + "}, {ipBlock: {cidr: 10.0.0.0/8}}]}]}":                                                                              {"{namespaces: [a]}", []string{"spec.network.policy.ingress[0].from[1]"}},
		"policy: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}":                                                                                    {"{namespaces: [own]}", nil},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {}}]}]}":                                                                                            {"{namespaces: [a]}", nil},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {matchLabels: {b: c}}}]}]}":                                                                         {"{namespaces: [a], pods: {matchLabels: {b: c}}}", nil},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {matchLabels: {b: c}}}, {podSelector: {}}]}]}":                                                      {"{namespaces: [a], pods: {matchLabels: {b: c}}}", nil},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {matchLabels: {b: c}}}, {" + a + "}]}]}":                                                            {"{namespaces: [a]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {matchLabels: {b: 1}}}]}]}":                                                                         {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{" + a + ", podSelector: {matchExpressions: [{key: b, operator: Is}]}}]}]}":                                                  {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchLabels: {team: a}}, podSelector: {matchLabels: {b: c}}}]}]}":                                       {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {}}]}]}":                                                                                                 {"{namespaces: ['*']}", nil},
		"policy: {ingress: [{from: [{namespaceSelector: {matchLabels: {team: a}}}]}]}":                                                                           {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}}]}, {from: [{" + a + "}]}]}":                         {"{labels: [team], namespaces: [a]}", nil},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [a, b, a]}]}}]}]}":          {"{namespaces: [a, b]}", nil},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: NotIn, values: [a]}]}}]}]}":                                    {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}":                                                                                              {"{namespaces: [own]}", nil},
		"policy: {policyTypes: [Ingress, Egress]}":                                                                                                               {"{namespaces: [own]}", []string{"spec.network.policy.policyTypes"}},
		"policy: {policyTypes: [Egress]}":                                                                                                                        {"", []string{"spec.network.policy.policyTypes"}},
		"policy: {enabled: 'no'}":                                                                                                                                {"{namespaces: [own]}", []string{"spec.network.policy.enabled"}},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{port: {}}]}]}\n    port: {}":                                                                          {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0]"}},
		"policy: {ingress: [{from: [{" + a + "}], ports: [{protocol: UDP, port: 8321}]}]}":                                                                       {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0]"}},
		"policy: {ingress: [{from: [{" + a + ", ipBlock: {cidr: 10.0.0.0/8}}]}]}":                                                                                {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: all, podSelector: {}}]}]}":                                                                               {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}, matchExpressions: [{key: team, operator: Exists}]}}]}]}": {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a, team: b}}}]}]}":                                           {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}}]}]}":                       {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: In, values: [a]}]}}]}]}":                                       {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: []}]}}]}]}":                 {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [7]}]}}]}]}":                {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a]}]}}]}]}":             {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}}]}]}":                                          {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: 7, operator: Exists}]}}]}]}":                                                   {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: '', operator: Exists}]}}]}]}":                                                  {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: all}}]}]}":                                                                            {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchLabels: all}}]}]}":                                                                                 {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {other: 1}}]}]}":                                                                                         {"{namespaces: [own]}", []string{"spec.network.policy.ingress[0].from[0]"}},
		"policy: {ingress: [{from: [{namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: Exists}]}}]}]}":                         {"{namespaces: ['*']}", nil},
		"policy: [a]": {"", []string{"spec.network.policy"}},
	} {
		t.Run(policy, func(t *testing.T) {
			back, findings := to(tree(t, ogxHeader+"  network:\n    "+policy+"\n"))
			spec, _ := back["spec"].(map[string]any)
			networking, _ := spec["networking"].(map[string]any)
			got, _ := networking["allowedFrom"].(map[string]any)
			var want map[string]any
			if c.want != "" {
				want = tree(t, c.want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.lost, lost(findings)); diff != "" {
				t.Errorf("lost (-want +got):\n%s\n%v", diff, findings)
			}
		})
	}
	without := tree(t, strings.Replace(ogxHeader, ", namespace: own", "", 1))
	if _, findings := to(without); len(findings) != 1 || findings[0].Lost != "" || findings[0].Path != "spec.network" {
		t.Errorf("without a namespace: %v", findings)
	}
	open, _ := from(tree(t, header+"  distribution: {name: starter}"))
	restricted, _ := ogx.From(tree(t, header+"  distribution: {name: starter}"), ogx.Surroundings{NetworkPolicy: true})
	for enabled, object := range map[bool]map[string]any{false: open, true: restricted} {
		want := tree(t, "spec: {distribution: {name: starter}, network: {policy: {enabled: "+map[bool]string{true: "true", false: "false"}[enabled]+"}}}")
		if diff := cmp.Diff(want["spec"], object["spec"]); diff != "" {
			t.Errorf("without allowedFrom (-want +got):\n%s", diff)
		}
	}
	for text, want := range map[string]string{
		"{pods: {matchLabels: {a: b}}}":                  "[{podSelector: {matchLabels: {a: b}}}]",
		"{pods: {matchLabels: {a: b}}, namespaces: [a]}": "[{" + a + ", podSelector: {matchLabels: {a: b}}}]",
	} {
		there, _ := from(tree(t, header+"  distribution: {name: starter}\n  networking: {allowedFrom: "+text+"}"))
		want := tree(t, "{enabled: true, ingress: [{from: "+want+", ports: [{port: 8321, protocol: TCP}]}]}")
		got, _, _ := unstructured.NestedMap(there, "spec", "network", "policy")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// Proves: R98 (the certificates of one ConfigMap are a CA bundle, by the rules of R40).
func TestCertificatesOfOneConfigMapAreACABundle(t *testing.T) {
	keys := map[string][]string{"one": {"own.pem"}, "two": {"ca.crt", "own.pem"}, "all": {"ca-bundle.crt", "ca.crt", "own.pem"}, "run": {"run.yaml"}}
	known := func(name string) []string { return keys[name] }
	for list, c := range map[string]struct {
		want         string
		lost, review []string
	}{
		"[{name: ca, key: ca-bundle.crt}]":                                 {"ca", nil, nil},
		"[{name: ca, key: ca.crt}]":                                        {"ca", nil, []string{"spec.tls.trust.caCertificates[0]"}},
		"[{name: one, key: own.pem}]":                                      {"one", nil, nil},
		"[{name: two, key: ca.crt}]":                                       {"two", nil, nil},
		"[{name: all, key: own.pem}]":                                      {"all", nil, []string{"spec.tls.trust.caCertificates[0]"}},
		"[{name: ca, key: a}, {name: ca, key: ca-bundle.crt}]":             {"ca}, caBundles: [{configMapName: ca, keys: [a]}", nil, nil},
		"[{name: ca, key: ca-bundle.crt}, {name: ca, key: ca-bundle.crt}]": {"ca", nil, nil},
		"[{name: ca, key: ca-bundle.crt}, {name: b, key: ca-bundle.crt}]":  {"ca}, caBundles: [{configMapName: b, keys: [ca-bundle.crt]}", nil, nil},
		"[7, {name: ca, key: ca-bundle.crt}]":                              {"ca", []string{"spec.tls.trust.caCertificates[0]"}, nil},
	} {
		t.Run(list, func(t *testing.T) {
			back, findings := ogx.To(tree(t, ogxHeader+"  tls: {trust: {caCertificates: "+list+"}}\n"), known)
			tls := "caBundle: {configMapName: " + c.want + "}"
			if strings.Contains(c.want, "caBundles") {
				tls = strings.TrimSuffix(tls, "}") + "]"
			}
			want := tree(t, "{allowedFrom: {namespaces: [own]}, tls: {"+tls+"}}")
			if diff := cmp.Diff(want, back["spec"].(map[string]any)["networking"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var review []string
			for _, f := range findings {
				if f.Lost == "" {
					review = append(review, f.Path)
				}
			}
			if diff := cmp.Diff([2][]string{c.lost, c.review}, [2][]string{lost(findings), review}); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%v", diff, findings)
			}
		})
	}
	for name, c := range map[string]struct {
		around ogx.Surroundings
		want   string
		review bool
	}{
		"ca":  {ogx.Surroundings{}, "[{name: ca, key: ca-bundle.crt}]", true},
		"one": {ogx.Surroundings{Keys: known}, "[{name: one, key: own.pem}]", false},
		"two": {ogx.Surroundings{Keys: known}, "[{name: two, key: ca.crt}]", false},
		"all": {ogx.Surroundings{Keys: known}, "[{name: all, key: ca-bundle.crt}]", false},
	} {
		object := tree(t, header+"  distribution: {name: starter}\n  networking: {tls: {caBundle: {configMapName: "+name+"}}}")
		there, findings := ogx.From(object, c.around)
		if diff := cmp.Diff(tree(t, "{trust: {caCertificates: "+c.want+"}}"), there["spec"].(map[string]any)["tls"]); diff != "" || (len(findings) > 0) != c.review {
			t.Errorf("%s: %v (-want +got):\n%s", name, findings, diff)
		}
	}
	for name, key := range map[string]string{"run": "run.yaml", "other": "config.yaml"} {
		object := tree(t, header+"  distribution: {name: starter}\n  overrideConfig: {configMapName: "+name+"}")
		there, _ := ogx.From(object, ogx.Surroundings{Keys: known})
		if diff := cmp.Diff(tree(t, "{name: "+name+", key: "+key+"}"), there["spec"].(map[string]any)["overrideConfig"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if _, findings := ogx.To(there, known); len(lost(findings)) > 0 {
			t.Errorf("%s: %v", name, findings)
		}
	}
}

// Proves: R98 (models keep their fields; a provider without an id gets the one that models of an OGXServer refer to).
func TestModelsAndTheirProvidersComeBack(t *testing.T) {
	back, findings := to(tree(t, ogxHeader+`
  providers:
    inference:
      inline: {custom: [{type: "inline::sentence-transformers"}]}
      remote:
        openai: [{apiKey: {name: keys, key: openai}}]
        custom: [{type: "remote::together", secretRefs: {api_key: {name: keys, key: together}}}]
        vllm: [{endpoint: "http://a/v1"}]
    toolRuntime: {inline: {fileSearch: [{vectorStoresConfig: {rewriteQueryParams: {temperature: "0.3", maxTokens: 9}}}]}}
  resources:
    models:
    - {name: a}
    - {name: b, provider: remote-together, modelType: llm, contextLength: 8192, quantization: int8}
    - {name: c, modelType: rerank}
    - {name: d, modelType: embedding}
    - {name: e, modelType: vision}
    - {name: f, contextLength: 0, quantization: "", color: red}
    - {modelType: llm}
`))
	want := tree(t, `
distribution: {name: starter}
networking: {allowedFrom: {namespaces: [own]}}
providers:
  inference:
  - {id: remote-vllm, provider: vllm, endpoint: "http://a/v1"}
  - {id: remote-openai, provider: openai, apiKey: {name: keys, key: openai}}
  - {id: remote-together, provider: together, apiKey: {name: keys, key: together}}
  - {id: inline-sentence-transformers, provider: sentence-transformers}
  toolRuntime: {id: inline-file-search, provider: file-search, settings: {vector_stores_config: {rewrite_query_params: {temperature: 0.3, max_tokens: 9}}}}
resources:
  models:
  - {name: a}
  - {name: b, provider: remote-together, modelType: llm, contextLength: 8192, quantization: int8}
  - {name: c, modelType: rerank}
  - {name: f}
`)
	if diff := cmp.Diff(want, back["spec"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.resources.models[3]", "spec.resources.models[4]", "spec.resources.models[5].color",
		"spec.resources.models[5].contextLength", "spec.resources.models[5].quantization", "spec.resources.models[6]"}, lost(findings)); diff != "" {
		t.Errorf("lost (-want +got):\n%s\n%v", diff, findings)
	}
}

// An API with one provider has an object without an id in an OGXServer, or a list of custom ones.
//
// Proves: R98, R99.
func TestProvidersOfEveryAPIComeBack(t *testing.T) {
	object := tree(t, header+`
  distribution: {name: starter}
  providers:
    files:
      provider: s3
      endpoint: http://minio:9000
      settings: {bucket_name: documents, region: eu-central-1}
      secretRefs: {aws_access_key_id: {name: s3, key: id}, aws_secret_access_key: {name: s3, key: secret}}
    fileProcessors: {provider: docling-serve, endpoint: "http://docling:5001", apiKey: {name: docling, key: key}}
    batches: {id: mine, provider: reference, settings: {max_concurrent_batches: 2}}
    responses: {provider: builtin, settings: {compaction_config: {default_compact_threshold: 9000}}}
`)
	there, findings := from(object)
	want := tree(t, `
files:
  remote:
    s3:
      endpointUrl: http://minio:9000
      bucketName: documents
      region: eu-central-1
      awsAccessKeyId: {name: s3, key: id}
      awsSecretAccessKey: {name: s3, key: secret}
fileProcessors: {remote: {doclingServe: {baseUrl: "http://docling:5001", apiKey: {name: docling, key: key}}}}
batches: {inline: {custom: [{id: mine, type: "inline::reference", settings: {max_concurrent_batches: 2}}]}}
responses: {inline: {builtin: {compactionConfig: {defaultCompactThreshold: 9000}}}}
`)
	if diff := cmp.Diff(want, there["spec"].(map[string]any)["providers"]); diff != "" || len(lost(findings)) > 0 {
		t.Errorf("lost %v (-want +got):\n%s", findings, diff)
	}
	if refused := ogx.Refused(there); len(refused) > 0 {
		t.Error(refused)
	}
	back, findings := to(there)
	if diff := cmp.Diff(object["spec"].(map[string]any)["providers"], back["spec"].(map[string]any)["providers"]); diff != "" || len(lost(findings)) > 0 {
		t.Errorf("lost %v (-want +got):\n%s", findings, diff)
	}
}

// Proves: R98 (a model without a provider stays with the first one, although OGXServer lists typed providers first).
func TestModelsKeepTheirDefaultProvider(t *testing.T) {
	there, findings := from(tree(t, header+`
  distribution: {name: starter}
  providers:
    inference: [{id: big, provider: together, apiKey: {name: keys, key: a}}, {id: own, provider: vllm, endpoint: "http://vllm:8000"}]
  resources: {models: [m, {name: o, provider: own}]}
`))
	want := tree(t, "{models: [{name: m, provider: big}, {name: o, provider: own}]}")
	if diff := cmp.Diff(want, there["spec"].(map[string]any)["resources"]); diff != "" || len(findings) > 0 {
		t.Errorf("%v (-want +got):\n%s", findings, diff)
	}
}

// Proves: R98 (what the schema allows, but other parts of the other operator may refuse, is a warning).
func TestWhatTheOtherOperatorMayRefuseIsReviewed(t *testing.T) {
	for spec, want := range map[string][]string{
		"distribution: {name: starter}":                                        nil,
		"distribution: {name: postgres-demo}":                                  nil,
		"distribution: {name: remote-vllm}":                                    {"spec.distribution.name"},
		"distribution: {image: example.com/a:1}\n  networking: {expose: true}": {"spec.networking.expose"},
		"distribution: {name: starter}\n  networking: {expose: false}":         nil,
	} {
		_, findings := from(tree(t, header+"  "+spec))
		var got []string
		for _, f := range findings {
			if f.Lost == "" && f.Detail != "" && f.Fix != "" {
				got = append(got, f.Path)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || len(lost(findings)) > 0 {
			t.Errorf("%s: %v (-want +got):\n%s", spec, findings, diff)
		}
	}
}

// Proves: R98 (what only the conversion annotation keeps is lost with the type of its value, but OGXServer can name the
// trusted keys).
func TestFieldsOfTheOldVersionAreLost(t *testing.T) {
	for server, want := range map[string][]ogx.Finding{
		"":                           nil,
		"containerSpec: {name: own}": {{Path: "spec.server.containerSpec.name", Lost: "string"}},
		"tlsConfig: {caBundle: {configMapName: ca, configMapKeys: [a.pem, b.pem]}}":                            nil,
		"tlsConfig: {caBundle: {configMapName: ca, configMapKeys: [a.pem, b.pem], configMapNamespace: other}}": {{Path: "spec.server.tlsConfig.caBundle", Lost: "object"}},
		"userConfig: {configMapName: a, configMapNamespace: other}":                                            {{Path: "spec.server.userConfig", Lost: "object"}},
	} {
		old := tree(t, "apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: s}\nspec:\n  server:\n    distribution: {name: starter}\n    "+server)
		object, err := v1alpha1.Convert(old, v1alpha2.GroupVersion.String())
		if err != nil {
			t.Fatal(err)
		}
		there, findings := from(object)
		for i := range findings {
			findings[i].Detail, findings[i].Fix = "", ""
		}
		if diff := cmp.Diff(want, findings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", server, diff)
		}
		if annotations := there["metadata"].(map[string]any)["annotations"]; annotations != nil {
			t.Errorf("%s: annotations %v", server, annotations)
		}
		if tls := there["spec"].(map[string]any)["tls"]; strings.Contains(server, "caBundle") {
			if diff := cmp.Diff(tree(t, "{trust: {caCertificates: [{name: ca, key: a.pem}, {name: ca, key: b.pem}]}}"), tls); diff != "" {
				t.Errorf("%s (-want +got):\n%s", server, diff)
			}
		}
	}
	object := tree(t, header+"  distribution: {name: starter}\n  resources: {models: [a, {name: b, color: [1]}], tools: [c]}\n  providers: {inference: {id: d, provider: vllm, color: red}}")
	_, findings := from(object)
	types := map[string]string{}
	for _, f := range findings {
		types[f.Path] = f.Lost
	}
	if diff := cmp.Diff(map[string]string{"spec.resources.models[1].color": "list", "spec.resources.tools": "list", "spec.providers.inference.color": "string"}, types); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

// SPDX-License-Identifier: Apache-2.0

package ogx_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/ogx"
)

const header = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: s, labels: {team: a}}\nspec:\n"

// common has the fields of both kinds.
const common = header + `
  distribution: {name: starter}
  providers:
    inference:
    - {id: one, provider: vllm, endpoint: "http://vllm:8000", apiKey: {name: keys, key: vllm}, settings: {max_tokens: 8192, network: {tls: {verify: true, min_version: TLSv1.2}}}}
    - {id: two, provider: together, apiKey: {name: keys, key: together}, settings: {base_url: "https://together.example.com/v1"}}
    vectorIo: {id: db, provider: pgvector, endpoint: "db:5432", secretRefs: {password: {name: keys, key: db}}, settings: {db: d, user: u}}
    toolRuntime: {id: search, provider: tavily-search, apiKey: {name: keys, key: search}, settings: {max_results: 3}}
  storage:
    kv: {type: redis, endpoint: "redis:6379", password: {secretKeyRef: {name: keys, key: redis}}}
    sql: {type: postgres, connectionString: {name: keys, key: dsn}}
  disabled: [batches]
  monitoring: {enabled: false, metricsPort: 9001}
  networking:
    port: 9000
    tls: {enabled: true, secretName: tls}
    expose: {hostname: llama.example.com}
    allowedFrom: {namespaces: [a, b], labels: [team]}
  workload:
    replicas: 2
    workers: 2
    resources: {requests: {cpu: "2"}}
    autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 70}
    storage: {size: 20Gi}
    podDisruptionBudget: {}
    overrides: {env: [{name: A, value: b}], args: [--quiet]}
`

func from(object map[string]any) (map[string]any, []ogx.Finding) {
	return ogx.From(object, ogx.Surroundings{})
}

func to(object map[string]any) (map[string]any, []ogx.Finding) { return ogx.To(object, nil) }

// lost returns the paths of the lost fields.
func lost(findings []ogx.Finding) []string {
	var paths []string
	for _, f := range findings {
		if f.Lost != "" {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

// tree decodes YAML as the plugin does, so that integers keep their type.
func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	var object map[string]any
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// configuration returns the objects of a LlamaStackDistribution for the newest release line.
func configuration(t *testing.T, object map[string]any) string {
	t.Helper()
	known, err := settings.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster := offline.NewCluster(known)
	cluster.Replacement.Version = catalog.Newest()
	text, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	documents, errs := manifest.Read([]string{manifest.Stdin}, false, bytes.NewReader(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r := cluster.DryRun(t.Context(), documents[0])
	if r.Failed() {
		t.Fatalf("%v\n%s", r.Problems, text)
	}
	objects, err := yaml.Marshal(r.Desired.Objects)
	if err != nil {
		t.Fatal(err)
	}
	if r.Desired.Config == nil { // the user's own
		return string(objects)
	}
	return string(r.Desired.Config.YAML) + string(objects)
}

// Proves: R22, FR-075.
func TestCommonFieldsSurviveRoundTrip(t *testing.T) {
	object := tree(t, common)
	there, losses := from(object)
	if len(lost(losses)) > 0 {
		t.Errorf("lost: %v", losses)
	}
	want := tree(t, `
apiVersion: ogx.io/v1beta1
kind: OGXServer
metadata: {name: s, labels: {team: a}}
spec:
  distribution: {name: starter}
  disabledAPIs: [batches]
  monitoring: {enabled: false, metricsPort: 9001}
  network:
    port: 9000
    tls: {secretName: tls}
    externalAccess: {enabled: true, hostname: llama.example.com}
    policy:
      enabled: true
      ingress:
      - from:
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}
        - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}
        - namespaceSelector: {matchExpressions: [{key: team, operator: Exists}]}
        ports: [{protocol: TCP, port: 9000}]
  providers:
    inference:
      remote:
        vllm:
        - {id: one, endpoint: "http://vllm:8000/v1", apiToken: {name: keys, key: vllm}, maxTokens: 8192, network: {tls: {verify: true, minVersion: TLSv1.2}}}
        custom:
        - {id: two, type: "remote::together", settings: {base_url: "https://together.example.com/v1"}, secretRefs: {api_key: {name: keys, key: together}}}
    vectorIo:
      remote:
        pgvector: [{id: db, host: db, port: 5432, db: d, user: u, password: {name: keys, key: db}}]
    toolRuntime:
      remote:
        tavilySearch: [{id: search, apiKey: {name: keys, key: search}, maxResults: 3}]
  storage:
    kv: {type: redis, endpoint: "redis:6379", password: {name: keys, key: redis}}
    sql: {type: postgres, connectionString: {name: keys, key: dsn}}
  workload:
    replicas: 2
    workers: 2
    resources: {requests: {cpu: "2"}}
    autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 70}
    storage: {size: 20Gi, mountPath: /.llama}
    podDisruptionBudget: {maxUnavailable: 1}
    overrides: {env: [{name: A, value: b}], args: [--quiet]}
`)
	if diff := cmp.Diff(want, there); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tree(t, common), object); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}
	back, losses := to(there)
	if len(losses) > 0 {
		t.Errorf("lost on the way back: %v", losses)
	}
	if diff := cmp.Diff(configuration(t, object), configuration(t, back)); diff != "" {
		t.Errorf("another server (-before +after):\n%s", diff)
	}
	again, _ := from(back)
	if diff := cmp.Diff(there, again); diff != "" {
		t.Errorf("another OGXServer (-first +second):\n%s", diff)
	}
}

// Proves: R22, R98 (a second conversion of a sample loses nothing, and the API server accepts the result).
func TestSamplesSurviveRoundTrip(t *testing.T) {
	samples, err := filepath.Glob("../../../config/samples/v1alpha2-*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatal(samples, err)
	}
	for _, sample := range samples {
		if strings.Contains(sample, "-full") {
			continue // has every field, also those that an OGXServer cannot express
		}
		text, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		object := tree(t, string(text))
		withoutEmbeddingModels(object)
		there, _ := from(object)
		back, losses := to(there)
		again, more := from(back)
		if diff := cmp.Diff(there, again); diff != "" || len(lost(losses))+len(lost(more)) > 0 {
			t.Errorf("%s: lost %v %v (-first +second):\n%s", sample, losses, more, diff)
		}
		if refused := ogx.Refused(there); len(refused) > 0 {
			t.Errorf("%s: %v", sample, refused)
		}
	}
}

// withoutEmbeddingModels removes the models whose dimension an OGXServer cannot express.
func withoutEmbeddingModels(object map[string]any) {
	models, found, _ := unstructured.NestedSlice(object, "spec", "resources", "models")
	if !found {
		return
	}
	models = slices.DeleteFunc(models, func(m any) bool {
		model, _ := m.(map[string]any)
		return model["modelType"] == "embedding"
	})
	_ = unstructured.SetNestedSlice(object, models, "spec", "resources", "models")
}

// Proves: R22, R98, FR-075.
func TestInconvertibleFieldsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		convert func(map[string]any) (map[string]any, []ogx.Finding)
		text    string
		want    []string
	}{
		"from": {from, header + `
  distribution: {name: starter}
  providers:
    inference: [{id: a, provider: vllm, endpointFrom: {kind: Service, name: a}}, {id: b, provider: vllm}]
    toolRuntime:
    - {id: tools, provider: model-context-protocol, endpoint: "http://mcp:8080/mcp"}
    - {id: own, provider: "remote::our-own", endpoint: "http://a", apiKey: {name: a, key: b}, region: r, deploymentName: d}
    safety: {provider: llama-guard}
    telemetry: {provider: otel, endpoint: "http://otel:4318"}
  resources: {models: [m]}
  auth: {provider: kubernetes}
  storage: {kv: {type: postgres, connectionString: {name: a, key: b}}}
  networking: {tls: {secretName: off, caBundle: {configMapName: ca}}}
  workload: {scheduling: {nodeSelector: {a: b}}, imagePullSecrets: [{name: a}], storage: {}, overrides: {envFrom: [{secretRef: {name: a}}]}}
`, []string{
			"spec.auth", "spec.networking.tls.secretName", "spec.providers.inference[0].endpointFrom", "spec.providers.safety",
			"spec.providers.telemetry", "spec.providers.toolRuntime[0].endpoint", "spec.providers.toolRuntime[1].deploymentName",
			"spec.providers.toolRuntime[1].region", "spec.resources.models[0]", "spec.storage.kv", "spec.workload.imagePullSecrets", "spec.workload.overrides.envFrom",
			"spec.workload.scheduling",
		}},
		"to": {to, `
apiVersion: ogx.io/v1beta1
kind: OGXServer
metadata: {name: s, uid: u}
spec:
  distribution: {name: starter}
  baseConfig: {name: a, key: b}
  overrideConfig: {name: a, key: run.yaml}
  monitoring: {enabled: true, interval: 3}
  registryRefreshIntervalSeconds: 3
  network: {policy: {enabled: true, egress: []}}
  tls: {trust: {caCertificates: [{name: a, key: b}]}, identity: {cert: {name: a, key: b}}}
  providers:
    files: {inline: {localfs: {ttlSecs: 3}}}
    inference:
      remote:
        vllm: [{endpoint: "http://a/v1", maxTokens: lots, unknown: 1}]
        other: [{id: x}]
        custom: [{type: "remote::x", more: 1}]
status: {phase: Ready}
`, []string{
			"spec.baseConfig", "spec.monitoring.interval", "spec.overrideConfig.key",
			"spec.providers.inference.remote.custom[0].more", "spec.providers.inference.remote.other",
			"spec.providers.inference.remote.vllm[0].maxTokens", "spec.providers.inference.remote.vllm[0].unknown",
			"spec.registryRefreshIntervalSeconds", "spec.tls.identity",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, losses := c.convert(tree(t, c.text))
			got := lost(losses)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%v", diff, losses)
			}
		})
	}
}

// FuzzConvert checks that each field is converted or reported without a panic, and the same each time.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(common))
	f.Add([]byte("spec: {providers: {inference: [x, {id: 1}]}, network: {policy: {ingress: [{from: [1]}]}}, workload: {storage: []}}"))
	f.Add([]byte("spec: {network: {policy: {ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: 1}}}]}]}}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, err := yaml.YAMLToJSON(text)
		var object map[string]any
		if err != nil || kjson.UnmarshalCaseSensitivePreserveInts(raw, &object) != nil || object == nil {
			return
		}
		for _, convert := range []func(map[string]any) (map[string]any, []ogx.Finding){from, to} {
			one, losses := convert(object)
			two, again := convert(object)
			if diff := cmp.Diff(fmt.Sprint(one, losses), fmt.Sprint(two, again)); diff != "" {
				t.Error(diff)
			}
			for _, loss := range losses {
				if loss.Path == "" || strings.Contains(loss.Path, "..") {
					t.Errorf("a loss without a path: %+v", loss)
				}
			}
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// manifest is a resource with the given spec.
func manifest(name, spec string) string {
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	return "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata:\n  name: " + name + "\nspec:\n" + indented + "\n"
}

// Proves: FR-002, FR-013, FR-070, API-VAL, R30 to R33, FR-075 (each message says how to fix it).
func TestAdmissionRejects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const starter = "distribution: {name: starter}\n"
	for name, c := range map[string]struct{ spec, want string }{
		"neither name nor image":        {"distribution: {}", "one of name and image is required"},
		"empty name":                    {"distribution: {name: ''}", "one of name and image is required"},
		"name and image":                {"distribution: {name: starter, image: example.com/x:1}", "name and image exclude each other"},
		"no distribution":               {"workload: {replicas: 1}", "spec.distribution: Required value"},
		"override with providers":       {starter + "overrideConfig: {configMapName: c}\nproviders: {inference: {provider: vllm}}", "overrideConfig excludes providers: remove"},
		"override with empty providers": {starter + "overrideConfig: {configMapName: c}\nproviders: {}", "overrideConfig excludes providers"},
		"override with resources":       {starter + "overrideConfig: {configMapName: c}\nresources: {models: [m]}", "overrideConfig excludes resources: remove"},
		"override with storage":         {starter + "overrideConfig: {configMapName: c}\nstorage: {kv: {}}", "overrideConfig excludes storage: remove"},
		"override with disabled":        {starter + "overrideConfig: {configMapName: c}\ndisabled: [eval]", "overrideConfig excludes disabled: remove"},
		"override without name":         {starter + "overrideConfig: {configMapName: ''}", "spec.overrideConfig.configMapName"},
		"redis without endpoint":        {starter + "storage: {kv: {type: redis}}", "type redis needs an endpoint: for example"},
		"sqlite with endpoint":          {starter + "storage: {kv: {endpoint: 'r:6379'}}", "endpoint belongs to type redis: set"},
		"sqlite with password":          {starter + "storage: {kv: {password: {name: s, key: k}}}", "password belongs to type redis: set"},
		"postgres without DSN":          {starter + "storage: {sql: {type: postgres}}", "type postgres needs a connectionString"},
		"postgres in kv, no DSN":        {starter + "storage: {kv: {type: postgres}}", "type postgres needs a connectionString"},
		"redis with DSN":                {starter + "storage: {kv: {type: redis, endpoint: r, connectionString: {name: s, key: k}}}", "connectionString belongs to type postgres"},
		"sqlite with DSN":               {starter + "storage: {sql: {connectionString: {name: s, key: k}}}", "connectionString belongs to type postgres"},
		"unknown kv type":               {starter + "storage: {kv: {type: etcd}}", `supported values: "sqlite", "redis", "postgres"`},
		"unknown sql type":              {starter + "storage: {sql: {type: mysql}}", `supported values: "sqlite", "postgres"`},
		"half a reference":              {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {name: s}}}", "a secret reference is either"},
		"both forms of a reference":     {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {name: s, key: k, secretKeyRef: {name: s, key: k}}}}", "a secret reference is either"},
		"half a nested reference":       {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {secretKeyRef: {name: s}}}}", "a secret reference is either"},
		"TLS without Secret":            {starter + "networking: {tls: {enabled: true}}", "enabled needs a secretName"},
		"CA bundle without name":        {starter + "networking: {tls: {caBundle: {configMapName: ''}}}", "spec.networking.tls.caBundle.configMapName"},
		"port 0":                        {starter + "networking: {port: 0}", "spec.networking.port"},
		"port 65536":                    {starter + "networking: {port: 65536}", "spec.networking.port"},
		"no worker":                     {starter + "workload: {workers: 0}", "spec.workload.workers"},
		"less than no replica":          {starter + "workload: {replicas: -1}", "spec.workload.replicas"},
		"unknown field":                 {starter + "workloads: {replicas: 1}", `unknown field "spec.workloads"`},
		"models that are not a list":    {starter + "resources: {models: m}", "spec.resources.models"},
		"disabled that is not a list":   {starter + "disabled: eval", "spec.disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := e.apply(manifest("rejected", c.spec))
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			if !strings.Contains(out, c.want) {
				t.Errorf("kubectl apply prints:\n%s\nwant it to contain %q", out, c.want)
			}
		})
	}
}

// Proves: R34 (a name from which no Service name can be made is refused before anything is half built).
func TestAdmissionRejectsNames(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, name := range []string{"my.stack", "1st", strings.Repeat("a", 56)} {
		out, err := e.apply(manifest(name, "distribution: {name: starter}"))
		if err == nil || !strings.Contains(out, "denied request: metadata.name: Invalid value: a Service is named after it: use at most 55") {
			t.Errorf("%s: kubectl apply prints:\n%s", name, out)
		}
	}
	e.mustApply(manifest(strings.Repeat("a", 55), "distribution: {name: starter}"))
}

// Proves: FR-001, FR-003, FR-004, FR-006 to FR-012, FR-014 (the API server accepts every field and keeps the user's spelling,
// R4), R2 (both forms of a secret reference).
func TestAdmissionAcceptsEveryField(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, file := range []string{"full-objects.yaml", "full-lists.yaml"} {
		t.Run(file, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			e.mustApply(string(raw))
			written := map[string]any{}
			if err := yaml.Unmarshal(raw, &written); err != nil {
				t.Fatal(err)
			}
			name, _, _ := unstructured.NestedString(written, "metadata", "name")
			read := e.unstructured(name)
			if diff := cmp.Diff(normal(t, written["spec"]), normal(t, read.Object["spec"])); diff != "" {
				t.Errorf("what is read is not what was written (-written +read):\n%s", diff)
			}
		})
	}
}

// normal brings numbers of different decoders to one form.
func normal(t *testing.T, v any) any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (e *env) unstructured(name string) *unstructured.Unstructured {
	e.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "llamastack.io", Version: "v1alpha2", Kind: "LlamaStackDistribution"})
	if err := admin.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: name}, u); err != nil {
		e.t.Fatal(err)
	}
	return u
}

// Proves: API-DEF, R30 (defaults where the reference lists them, and never on a parent).
func TestDefaults(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.mustApply(manifest("bare", "distribution: {name: starter}"))
	e.mustApply(manifest("parents", "distribution: {name: starter}\nworkload: {}\nnetworking: {}\nstorage: {kv: {}, sql: {}}"))
	for name, want := range map[string]any{
		"bare": map[string]any{"distribution": map[string]any{"name": "starter"}},
		"parents": map[string]any{
			"distribution": map[string]any{"name": "starter"},
			"workload":     map[string]any{"replicas": 1.0},
			"networking":   map[string]any{"port": 8321.0},
			"storage":      map[string]any{"kv": map[string]any{"type": "sqlite"}, "sql": map[string]any{"type": "sqlite"}},
		},
	} {
		if diff := cmp.Diff(want, normal(t, e.unstructured(name).Object["spec"])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Proves: API-COL, R80, STAT, L-32 (the manifest can be applied by a client: the CRD stays below the limit of an annotation).
func TestColumnsAndSize(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.createSecret("vllm-creds", map[string]string{"token": canary})
	e.startOperator(operatorOptions{})
	e.mustApply(sample(t, "v1alpha2-simple.yaml"))
	e.waitReady("my-stack")
	out, err := cluster.KubectlRun(t.Context(), "get", "llsd", "-n", e.namespace)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := columns(out), [][]string{
		{"NAME", "PHASE", "READY", "REASON", "PROVIDERS", "AVAILABLE", "AGE"}, {"my-stack", "Ready", "True", "Ready", "1", "1"},
	}; !cmp.Equal(got[0], want[0]) || !cmp.Equal(got[1][:6], want[1]) {
		t.Errorf("kubectl get prints:\n%s", out)
	}
	out, err = cluster.KubectlRun(t.Context(), "get", "llsd", "-n", e.namespace, "-o", "wide")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"URL", "DISTRIBUTION", "RELEASE LINE", "CONFIG", "SERVER VERSION", "OPERATOR VERSION", "starter", "my-stack-config-", serverRelease} {
		if !strings.Contains(out, want) {
			t.Errorf("kubectl get -o wide lacks %q:\n%s", want, out)
		}
	}
	crd, err := os.ReadFile(filepath.Join(fixture.Root(), "config", "crd", "bases", "llamastack.io_llamastackdistributions.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := yaml.YAMLToJSON(crd)
	if err != nil {
		t.Fatal(err)
	}
	if len(compact) > 150_000 {
		t.Errorf("the CRD has %d bytes as JSON, want at most 150,000", len(compact))
	}
}

func columns(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}

func sample(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixture.Root(), "config", "samples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

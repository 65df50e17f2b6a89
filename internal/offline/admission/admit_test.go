// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admission"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func schema(t testing.TB) *admission.Schema {
	t.Helper()
	s, err := admission.NewSchema(crd.LlamaStackDistributions(), "v1alpha2")
	framework.NoError(t, err)
	return s
}

func resource(t *testing.T, spec string) map[string]any {
	t.Helper()
	object := map[string]any{}
	raw, err := yaml.YAMLToJSON([]byte(spec))
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
	}
	framework.NoError(t, err)
	return map[string]any{
		"apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
		"metadata": map[string]any{"name": "r", "namespace": "default"}, "spec": object,
	}
}

const starter = "distribution: {name: starter}\n"

// Messages of the API server that several cases share.
const (
	neither = "spec.distribution: Invalid value"
	half    = "spec.storage.kv.password: Invalid value"
	// The API server names no field here: "<nil>: Invalid value: null: some validation rules were not checked because …".
	unchecked = "spec"
)

// The messages are those of kubectl apply with the CRD installed, except for the message without a field.
//
// Proves: FR-013, FR-070, FR-075, NFR-004, API-VAL.
func TestRejections(t *testing.T) {
	s := schema(t)
	for name, c := range map[string]struct {
		spec string
		want []string
	}{
		"CA bundle without name":        {starter + "networking: {tls: {caBundle: {configMapName: ''}}}", []string{"spec.networking.tls.caBundle.configMapName: Invalid value"}},
		"TLS without Secret":            {starter + "networking: {tls: {enabled: true}}", []string{"spec.networking.tls: Invalid value"}},
		"both forms of a reference":     {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {name: s, key: k, secretKeyRef: {name: s, key: k}}}}", []string{half}},
		"disabled that is not a list":   {starter + "disabled: eval", []string{"spec.disabled: Invalid value", unchecked}},
		"empty name":                    {"distribution: {name: ''}", []string{neither}},
		"half a nested reference":       {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {secretKeyRef: {name: s}}}}", []string{half}},
		"half a reference":              {starter + "storage: {kv: {type: redis, endpoint: 'r:1', password: {name: s}}}", []string{half}},
		"less than no replica":          {starter + "workload: {replicas: -1}", []string{"spec.workload.replicas: Invalid value"}},
		"models that are not a list":    {starter + "resources: {models: m}", []string{"spec.resources.models: Invalid value", unchecked}},
		"name and image":                {"distribution: {name: starter, image: example.com/x:1}", []string{"spec.distribution: Invalid value"}},
		"neither name nor image":        {"distribution: {}", []string{neither}},
		"no distribution":               {"workload: {replicas: 1}", []string{"spec.distribution: Required value", unchecked}},
		"no worker":                     {starter + "workload: {workers: 0}", []string{"spec.workload.workers: Invalid value"}},
		"override with disabled":        {starter + "overrideConfig: {configMapName: c}\ndisabled: [eval]", []string{"spec.overrideConfig: Invalid value"}},
		"override with empty providers": {starter + "overrideConfig: {configMapName: c}\nproviders: {}", []string{"spec.overrideConfig: Invalid value"}},
		"override with providers":       {starter + "overrideConfig: {configMapName: c}\nproviders: {inference: {provider: vllm}}", []string{"spec.overrideConfig: Invalid value"}},
		"override with resources":       {starter + "overrideConfig: {configMapName: c}\nresources: {models: [m]}", []string{"spec.overrideConfig: Invalid value"}},
		"override with storage":         {starter + "overrideConfig: {configMapName: c}\nstorage: {kv: {}}", []string{"spec.overrideConfig: Invalid value"}},
		"override without name":         {starter + "overrideConfig: {configMapName: ''}", []string{"spec.overrideConfig.configMapName: Invalid value"}},
		"port 0":                        {starter + "networking: {port: 0}", []string{"spec.networking.port: Invalid value"}},
		"port 65536":                    {starter + "networking: {port: 65536}", []string{"spec.networking.port: Invalid value"}},
		"postgres without DSN":          {starter + "storage: {sql: {type: postgres}}", []string{"spec.storage.sql: Invalid value"}},
		"proxy with a password":         {starter + "networking: {proxy: {httpProxy: 'http://me:secret@proxy:3128', httpsProxy: 'proxy:3128'}}", []string{"spec.networking.proxy.httpProxy: Invalid value", "spec.networking.proxy.httpsProxy: Invalid value"}},
		"one pod and other modes":       {starter + "workload: {storage: {accessModes: [ReadWriteOncePod, ReadWriteMany]}}", []string{"spec.workload.storage.accessModes: Invalid value"}},
		"redis without endpoint":        {starter + "storage: {kv: {type: redis}}", []string{"spec.storage.kv: Invalid value"}},
		"sqlite with DSN":               {starter + "storage: {sql: {connectionString: {name: s, key: k}}}", []string{"spec.storage.sql: Invalid value"}},
		"sqlite with DSN in kv":         {starter + "storage: {kv: {connectionString: {name: s, key: k}}}", []string{"spec.storage.kv: Invalid value"}},
		"postgres in kv, no DSN":        {starter + "storage: {kv: {type: postgres}}", []string{"spec.storage.kv: Invalid value"}},
		"sqlite with endpoint":          {starter + "storage: {kv: {endpoint: 'r:6379'}}", []string{"spec.storage.kv: Invalid value"}},
		"sqlite with password":          {starter + "storage: {kv: {password: {name: s, key: k}}}", []string{"spec.storage.kv: Invalid value"}},
		"unknown field":                 {starter + "workloads: {replicas: 1}", []string{"spec.workloads"}},
		"unknown kv type":               {starter + "storage: {kv: {type: etcd}}", []string{"spec.storage.kv.type: Unsupported value", unchecked}},
		"misspelled kv type":            {starter + "storage: {kv: {type: redi}}", []string{"spec.storage.kv.type: Unsupported value", unchecked}},
		"misspelled sql type":           {starter + "storage: {sql: {type: postgress}}", []string{"spec.storage.sql.type: Unsupported value", unchecked}},
		"misspelled inner field":        {starter + "networking: {tls: {enable: true}}", []string{"spec.networking.tls.enable"}},
		"field of the workload":         {starter + "replicas: 2\nnodeSelector: {a: b}\nenv: []\nsize: 1Gi", []string{"spec.env", "spec.nodeSelector", "spec.replicas", "spec.size"}},
		"field beside its place":        {starter + "workload: {image: i, port: 1, env: [], minReplicas: 1}", []string{"spec.workload.env", "spec.workload.image", "spec.workload.minReplicas", "spec.workload.port"}},
		"models beside their place":     {starter + "models: [m]\nstorage: {models: [m]}", []string{"spec.models", "spec.storage.models"}},
		"fields of a Deployment":        {starter + "template: {}\nstorageClassName: fast\nworkload: {storage: {storageClassName: fast}, ingress: {}}", []string{"spec.storageClassName", "spec.template", "spec.workload.ingress"}},
		"name with several places":      {starter + "type: redis", []string{"spec.type"}},
		"resources of the pod":          {starter + "resources: {requests: {cpu: 1}, limits: {cpu: 1}}", []string{"spec.resources.limits", "spec.resources.requests"}},
		"misspelled section":            {starter + "resouces: {models: [m]}", []string{"spec.resouces"}},
		"unknown sql type":              {starter + "storage: {sql: {type: mysql}}", []string{"spec.storage.sql.type: Unsupported value", unchecked}},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := s.Admit(t.Context(), resource(t, c.spec))
			var got, texts []string
			for _, p := range problems {
				where := p.Path
				if p.Type != "" {
					where += ": " + p.Type.String()
				}
				got, texts = append(got, where), append(texts, p.String())
				if p.Path == "" || p.Reason == "" {
					t.Errorf("no path or no reason: %+v", p)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			expect.Message(t, "", strings.Join(texts, "\n"))
		})
	}
}

// Proves: NFR-004.
func TestRejectsMetadata(t *testing.T) {
	s := schema(t)
	for name, c := range map[string]struct {
		metadata map[string]any
		want     string
	}{
		"no such name":   {map[string]any{"generateName": "A"}, "metadata.generateName: Invalid value: \"A\": a lowercase RFC 1123 subdomain"},
		"no name":        {map[string]any{}, "metadata.name: Required value: name or generateName is required"},
		"capitals":       {map[string]any{"name": "A"}, "metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"},
		"a wrong label":  {map[string]any{"name": "a", "labels": map[string]any{"-": "b"}}, "metadata.labels: Invalid value"},
		"unknown field":  {map[string]any{"name": "a", "lables": map[string]any{}}, `metadata.lables: unknown field: did you mean "labels"?`},
		"a wrong type":   {map[string]any{"name": int64(1)}, "metadata: Invalid value: json: cannot unmarshal number"},
		"labels by list": {map[string]any{"name": "a", "labels": []any{}}, "metadata: Invalid value: json: cannot unmarshal array"},
	} {
		object := resource(t, starter)
		if c.metadata["namespace"] == nil {
			c.metadata["namespace"] = "default"
		}
		object["metadata"] = c.metadata
		_, problems := s.Admit(t.Context(), object)
		if len(problems) == 0 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: %v, want %s", name, problems, c.want)
		}
	}
}

// Proves: NFR-004 (a field at the top level that belongs below metadata or spec).
func TestUnknownFieldNamesItsParent(t *testing.T) {
	s := schema(t)
	for name, want := range map[string]string{
		"namespace": "namespace: unknown field: write it below metadata, as metadata.namespace",
		"labels":    "labels: unknown field: write it below metadata, as metadata.labels",
		"providers": "providers: unknown field: write it below spec, as spec.providers",
		"sepc":      `sepc: unknown field: did you mean "spec"?`,
		"other":     "other: unknown field",
	} {
		object := resource(t, starter)
		object[name] = "x"
		if _, problems := s.Admit(t.Context(), object); len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%v, want %s", problems, want)
		}
	}
}

// Proves: NFR-004 (an object with generateName is checked as any other).
func TestGenerateName(t *testing.T) {
	s := schema(t)
	for prefix, want := range map[string]string{"ci-": "ci-xxxxx", strings.Repeat("a", 59): strings.Repeat("a", 58) + "xxxxx"} {
		object := resource(t, starter)
		object["metadata"] = map[string]any{"generateName": prefix, "namespace": "default"}
		stored, problems := s.Admit(t.Context(), object)
		if name := stored["metadata"].(map[string]any)["name"]; name != want || len(problems) > 0 {
			t.Errorf("the name made of %s is %v, want %s: %v", prefix, name, want, problems)
		}
	}
}

// Proves: API-DEF, R30 (defaults apply as in the API server, and unset parents stay unset).
func TestDefaults(t *testing.T) {
	s := schema(t)
	for spec, want := range map[string]string{
		starter: starter,
		starter + "workload: {}\nnetworking: {}\nstorage: {kv: {}, sql: {}}": starter +
			"workload: {replicas: 1}\nnetworking: {port: 8321}\nstorage: {kv: {type: sqlite}, sql: {type: sqlite}}",
		starter + "workload: {replicas: null}": starter + "workload: {replicas: 1}",
	} {
		given := resource(t, spec)
		given["status"] = map[string]any{"phase": "Ready"}
		stored, problems := s.Admit(t.Context(), given)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var wanted map[string]any
		framework.NoError(t, yaml.Unmarshal([]byte(want), &wanted))
		if diff := cmp.Diff(asYAML(t, wanted), asYAML(t, stored["spec"])); diff != "" || stored["status"] != nil {
			t.Errorf("%s: status %v, spec (-want +got):\n%s", spec, stored["status"], diff)
		}
		if given["status"] == nil {
			t.Error("the object that was given has changed")
		}
	}
}

func asYAML(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	framework.NoError(t, err)
	return string(text)
}

// Proves: NFR-004 (a missing version of the CRD is an error).
func TestNewSchema(t *testing.T) {
	if _, err := admission.NewSchema(crd.LlamaStackDistributions(), "v9"); err == nil || !strings.Contains(err.Error(), "version v9: there is no such version") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkNewSchema(b *testing.B) {
	for b.Loop() {
		schema(b)
	}
}

// BenchmarkAdmit measures the schema and the rules of a typical resource with PostgreSQL storage.
//
// Proves: NFR-002.
func BenchmarkAdmit(b *testing.B) {
	s := schema(b)
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(typical), &object); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	report := framework.ReportCPU(b)
	for b.Loop() {
		if _, problems := s.Admit(b.Context(), object); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
	report()
}

const typical = `
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: my-stack, namespace: default}
spec:
  distribution: {name: starter}
  providers:
    inference:
    - {id: vllm-primary, provider: vllm, endpoint: "http://vllm.models.svc:8000", apiKey: {name: keys, key: vllm}, settings: {max_tokens: 8192}}
    - {id: openai, provider: openai, apiKey: {name: keys, key: openai}}
    vectorIo: {provider: pgvector, endpoint: "postgres.data.svc:5432", secretRefs: {password: {name: keys, key: pgvector}}}
  resources:
    models: [llama3.2-8b, {name: llama3.3-70b, provider: vllm-primary}, {name: gpt-4o, provider: openai}, {name: gpt-4o-mini, provider: openai}, {name: o4-mini, provider: openai}]
  storage:
    kv: {type: redis, endpoint: "redis.data.svc:6379"}
    sql: {type: postgres, connectionString: {name: keys, key: dsn}}
`

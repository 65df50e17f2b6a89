// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// shuffled writes JSON with the keys of each map in random order.
func shuffled(v any, random *rand.Rand) string {
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for key, value := range v {
			members = append(members, fmt.Sprintf("%q: %s", key, shuffled(value, random)))
		}
		slices.Sort(members)
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		var members []string
		for _, item := range v {
			members = append(members, shuffled(item, random))
		}
		return "[" + strings.Join(members, ", ") + "]"
	default:
		encoded, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(encoded)
	}
}

func decodeYAML(tb testing.TB, data []byte) any {
	tb.Helper()
	var v any
	if err := yaml.Unmarshal(data, &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

func generate(tb testing.TB, in serverconfig.Input) *serverconfig.Result {
	tb.Helper()
	result, findings := serverconfig.Generate(tb.Context(), in)
	if result == nil {
		tb.Fatalf("no result:\n%s", findings)
	}
	return result
}

// The order of maps and unordered lists does not change the bytes. The order of the base does not change the meaning.
//
// Proves: NFR-001, L-07.
func TestDeterministic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	in := input(t, "testdata/everything", "0.7")
	want := generate(t, in)
	original := in.Spec.Source
	for range framework.Loops(50, 1000) {
		spec := original.DeepCopy()
		for _, raw := range openFields(spec) {
			raw.Raw = []byte(shuffled(decodeYAML(t, raw.Raw), random))
		}
		random.Shuffle(len(spec.Disabled), func(i, j int) { spec.Disabled[i], spec.Disabled[j] = spec.Disabled[j], spec.Disabled[i] })
		in.Spec = parse.Parse(spec)
		got := generate(t, in)
		if !bytes.Equal(got.YAML, want.YAML) || !slices.Equal(got.Env, want.Env) || !reflect.DeepEqual(got.Providers, want.Providers) {
			t.Fatalf("another order gives another result:\n%s", cmp.Diff(want, got))
		}
	}
	in = input(t, "testdata/settings", "0.7")
	want = generate(t, in)
	base := decodeYAML(t, read(t, "testdata/settings/base.yaml"))
	wantTree := decodeYAML(t, want.YAML)
	for range framework.Loops(10, 100) {
		in.Base = parseBase(t, "small", []byte(shuffled(base, random)))
		if diff := cmp.Diff(wantTree, decodeYAML(t, generate(t, in).YAML)); diff != "" {
			t.Fatalf("another order of the base gives another configuration:\n%s", diff)
		}
	}
}

// openFields returns the open fields of a spec that hold maps.
func openFields(spec *v1alpha2.LlamaStackDistributionSpec) []*apiextensionsv1.JSON {
	fields := []*apiextensionsv1.JSON{spec.Providers.Inference, spec.Providers.Safety, spec.Providers.ToolRuntime}
	for _, list := range [][]apiextensionsv1.JSON{spec.Resources.Models, spec.Resources.Tools, spec.Resources.Shields} {
		for i := range list {
			fields = append(fields, &list[i])
		}
	}
	return fields
}

// One base serves concurrent generations, which change neither the base nor the spec.
//
// Proves: NFR-001, R9.
func TestBaseIsNotChanged(t *testing.T) {
	starter, _ := distributions.Base("starter", "0.7")
	base := parseBase(t, "starter", starter)
	probe := input(t, "testdata/nothing-but-a-distribution", "0.7")
	probe.Base = base
	before := generate(t, probe).YAML

	var group sync.WaitGroup
	for _, dir := range cases(t) {
		in := input(t, dir, "0.7")
		in.Base = base
		spec := parse.Parse(in.Spec.Source.DeepCopy())
		group.Go(func() {
			serverconfig.Generate(t.Context(), in)
			if diff := cmp.Diff(spec, in.Spec); diff != "" {
				t.Errorf("%s: the spec was changed:\n%s", dir, diff)
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(string(before), string(generate(t, probe).YAML)); diff != "" {
		t.Errorf("the base was changed:\n%s", diff)
	}
}

// Proves: R9, L-11.
func TestUnknownKeysSurvive(t *testing.T) {
	const unknown = "x_unknown"
	var mark func(v any)
	mark = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, inner := range v {
				mark(inner)
			}
			v[unknown] = []any{}
		case []any:
			for _, inner := range v {
				mark(inner)
			}
		}
	}
	starter, _ := distributions.Base("starter", "0.7")
	tree := decodeYAML(t, starter)
	mark(tree)
	// Unknown keys under providers are APIs, which are allowed only with external_apis_dir.
	tree.(map[string]any)["external_apis_dir"] = "/apis"
	// Unknown keys under backends are backends, which need a type.
	tree.(map[string]any)["storage"].(map[string]any)["backends"].(map[string]any)[unknown] = map[string]any{"type": "kv_sqlite", "db_path": "/x.db", unknown: []any{}}
	marked, err := yaml.Marshal(tree)
	framework.NoError(t, err)
	for _, name := range []string{"vllm-with-key", "two-providers", "models"} {
		in := input(t, filepath.Join("testdata", name), "0.7")
		in.Base = parseBase(t, "marked", marked)
		generated := generate(t, in).YAML
		if missing := missingMaps(tree, decodeYAML(t, generated), unknown, "config.yaml"); len(missing) > 0 {
			t.Errorf("%s: the unknown key is gone in %v", name, missing)
		}
		if want := bytes.Count(marked, []byte(unknown)); bytes.Count(generated, []byte(unknown)) < want {
			t.Errorf("%s: fewer than %d unknown keys", name, want)
		}
	}
}

// missingMaps lists the paths at which a has the key and b does not.
func missingMaps(a, b any, key, path string) []string {
	var missing []string
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		if _, ok := b[key]; !ok {
			missing = append(missing, path)
		}
		for name := range a {
			missing = append(missing, missingMaps(a[name], b[name], key, path+"."+name)...)
		}
	case []any:
		b, _ := b.([]any)
		for i := range a {
			var item any
			if i < len(b) {
				item = b[i]
			}
			missing = append(missing, missingMaps(a[i], item, key, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return missing
}

// Proves: R17, R29, R50.
func TestResult(t *testing.T) {
	in := input(t, "testdata/two-providers", "0.7")
	in.Base = parseBase(t, "a\nname: with control characters\r\u2028", read(t, "testdata/models/base.yaml"))
	result := generate(t, in)
	if result.ProviderCount != 2 || result.ResourceCount != 2 || result.Version != 2 {
		t.Errorf("counts %d, %d, version %d", result.ProviderCount, result.ResourceCount, result.Version)
	}
	want := []serverconfig.ProviderEntry{
		{API: "inference", ID: "vllm-primary", Type: "remote::vllm", Config: json.RawMessage(
			`{"api_token":"${env.LLSD_VLLM_PRIMARY_API_KEY}","base_url":"http://vllm-a:8000/v1/","max_tokens":"${env.VLLM_MAX_TOKENS:=4096}",` +
				`"network":{"tls":{"verify":"${env.VLLM_TLS_VERIFY:=true}"}}}`)},
		{API: "inference", ID: "vllm-fallback", Type: "remote::vllm", Config: json.RawMessage(
			`{"api_token":"${env.VLLM_API_TOKEN:=fake}","base_url":"https://vllm-b.example.com/v1","max_tokens":"${env.VLLM_MAX_TOKENS:=4096}",` +
				`"network":{"tls":{"verify":"${env.VLLM_TLS_VERIFY:=true}"}}}`)},
	}
	if diff := cmp.Diff(want, result.Providers); diff != "" {
		t.Error(diff)
	}
	header, _, _ := strings.Cut(string(result.YAML), "version:")
	const wantHeader = "# Generated for the LlamaStackDistribution models/my-stack: edit that resource, not this file.\n" +
		"# Server release line: 0.7\n# Base configuration: aname: with control characters\n"
	if diff := cmp.Diff(wantHeader, header); diff != "" {
		t.Error(diff)
	}
	if result := generate(t, input(t, "testdata/previous-version", "0.7")); result.Version != 1 {
		t.Errorf("version %d, want 1", result.Version)
	}
}

// Proves: R17, R50.
func TestResultCountsConfiguredProviders(t *testing.T) {
	result := generate(t, over(t, goldenLine, &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{
			Inference: open(t, object{"provider": "vllm", "endpoint": "http://vllm:8000"}), Safety: open(t, object{"provider": "llama-guard"}),
			Telemetry: open(t, object{"provider": "opentelemetry", "endpoint": "http://otel:4318"}),
			VectorIo:  open(t, object{"provider": "faiss"}),
		},
		Resources: &v1alpha2.ResourcesSpec{
			Models: items(t, 3, func(i int) any {
				return object{"name": fmt.Sprintf("model-%d", i), "modelType": []string{"llm", "embedding"}[i%2], "embeddingDimension": 3}
			}),
			VectorStores: []v1alpha2.VectorStore{{Name: "docs", EmbeddingModel: "model-1"}},
			Shields:      items(t, 1, func(int) any { return object{"id": "guard", "model": "model-0"} }),
			Tools: items(t, 5, func(i int) any {
				return object{"name": fmt.Sprintf("mcp::server-%d", i), "endpoint": "http://mcp:8000/mcp"}
			}),
		},
	}))
	got := []int32{result.ProviderCount, result.ModelCount, result.ShieldCount, result.VectorStoreCount, result.ToolCount, result.ResourceCount}
	if want := []int32{4, 3, 1, 1, 5, 10}; !slices.Equal(got, want) {
		t.Errorf("providers, models, shields, vector stores, tools, resources: %v, want %v", got, want)
	}
}

// Proves: R26.
func TestInsecureIsSetIfReleaseLineRequiresIt(t *testing.T) {
	in := input(t, "testdata/vllm-with-key", "0.7")
	line := *in.Line
	line.NeedsInsecure = true
	in.Line = &line
	tree, _ := decodeYAML(t, generate(t, in).YAML).(map[string]any)
	if diff := cmp.Diff(map[string]any{"port": 8321, "insecure": true}, tree["server"]); diff != "" {
		t.Error(diff)
	}
}

// Proves: R15, R31, US-1.3.
func TestNeeded(t *testing.T) {
	raw := func(s string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(s)} }
	type spec = v1alpha2.LlamaStackDistributionSpec
	for name, c := range map[string]struct {
		spec spec
		want bool
	}{
		"only a distribution": {spec{Distribution: v1alpha2.DistributionSpec{Name: new("starter")}}, false},
		"pod settings": {spec{
			Workload:   &v1alpha2.WorkloadSpec{Replicas: ptr.To[int32](3), Overrides: &v1alpha2.WorkloadOverrides{Env: []corev1.EnvVar{{Name: "A"}}}},
			Networking: &v1alpha2.NetworkingSpec{Port: ptr.To[int32](80)},
		}, false},
		"empty sections": {spec{
			Providers: &v1alpha2.ProvidersSpec{Inference: raw("null")}, Resources: &v1alpha2.ResourcesSpec{}, Storage: &v1alpha2.StateStorageSpec{},
			Disabled: []string{}, ExternalProviders: raw(`{"inference": []}`), OverrideConfig: &v1alpha2.OverrideConfigSpec{},
			Networking: &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{Enabled: new(false)}},
		}, false},
		"inference":          {spec{Providers: &v1alpha2.ProvidersSpec{Inference: raw("{}")}}, true},
		"safety":             {spec{Providers: &v1alpha2.ProvidersSpec{Safety: raw("{}")}}, true},
		"vector I/O":         {spec{Providers: &v1alpha2.ProvidersSpec{VectorIo: raw("{}")}}, true},
		"tool runtime":       {spec{Providers: &v1alpha2.ProvidersSpec{ToolRuntime: raw("{}")}}, true},
		"telemetry":          {spec{Providers: &v1alpha2.ProvidersSpec{Telemetry: raw("{}")}}, true},
		"no providers":       {spec{Providers: &v1alpha2.ProvidersSpec{Safety: raw("null"), Telemetry: raw(" null")}}, false},
		"tools":              {spec{Resources: &v1alpha2.ResourcesSpec{Tools: []apiextensionsv1.JSON{*raw(`"websearch"`)}}}, true},
		"vector stores":      {spec{Resources: &v1alpha2.ResourcesSpec{VectorStores: []v1alpha2.VectorStore{{Name: "s", EmbeddingModel: "m"}}}}, true},
		"shields":            {spec{Resources: &v1alpha2.ResourcesSpec{Shields: []apiextensionsv1.JSON{*raw(`"llama-guard"`)}}}, true},
		"models":             {spec{Resources: &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{*raw(`"m"`)}}}, true},
		"workers":            {spec{Workload: &v1alpha2.WorkloadSpec{Workers: ptr.To[int32](2)}}, true},
		"storage":            {spec{Storage: &v1alpha2.StateStorageSpec{KV: &v1alpha2.KVStorageSpec{}}}, true},
		"disabled":           {spec{Disabled: []string{"eval"}}, true},
		"external providers": {spec{ExternalProviders: raw(`{"inference": [{}]}`)}, true},
		"odd external":       {spec{ExternalProviders: raw(`[]`)}, true},
		"tls":                {spec{Networking: &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{Enabled: new(true)}}}, true},
	} {
		if got := serverconfig.Needed(&c.spec, nil); got != c.want {
			t.Errorf("%s: Needed = %v, want %v", name, got, c.want)
		}
		if !serverconfig.Needed(&c.spec, &catalog.Line{NeedsInsecure: true}) {
			t.Errorf("%s: a server that needs server.insecure needs a configuration", name)
		}
	}
	own := spec{OverrideConfig: &v1alpha2.OverrideConfigSpec{ConfigMapName: "x"}, Workload: &v1alpha2.WorkloadSpec{Workers: ptr.To[int32](2)}}
	if serverconfig.Needed(&own, &catalog.Line{NeedsInsecure: true}) {
		t.Error("where the user gives the configuration none is generated")
	}
}

// Proves: FR-022, FR-073, R2, R3, R6.
func TestSecretUses(t *testing.T) {
	in := input(t, "testdata/cloud-fields", "0.7")
	uses, findings := serverconfig.SecretUses(in.Spec)
	want := []serverconfig.SecretUse{
		{EnvName: "LLSD_AWS_API_KEY", Ref: parse.SecretReference{Name: "aws", Key: "bearer"}, Path: "spec.providers.inference[0].apiKey"},
		{EnvName: "LLSD_GOOGLE_PROJECT", Ref: parse.SecretReference{Name: "gcp", Key: "project"}, Path: "spec.providers.inference[1].secretRefs[project]"},
		{EnvName: "LLSD_IBM_PROJECT_ID", Ref: parse.SecretReference{Name: "ibm", Key: "project"}, Path: "spec.providers.inference[2].projectId"},
		{EnvName: "LLSD_IBM_TIMEOUT", Ref: parse.SecretReference{Name: "ibm", Key: "timeout"}, Path: "spec.providers.inference[2].secretRefs[timeout]"},
	}
	if diff := cmp.Diff(want, uses); diff != "" || len(findings) > 0 {
		t.Errorf("%s\nfindings %v", diff, findings)
	}
	// The configuration refers to exactly the variables of SecretUses.
	for i, env := range generate(t, in).Env {
		if uses[i].EnvName != env.Name || uses[i].Ref != env.Ref || uses[i].Path != env.Path {
			t.Errorf("Env[%d] = %+v, use %+v", i, env, uses[i])
		}
	}
	uses, findings = serverconfig.SecretUses(input(t, "testdata/wrong-env-names", "0.7").Spec)
	if len(uses) != 1 || len(findings.Errors()) != 1 || findings[0].Reason != problem.ConflictingFields {
		t.Errorf("uses %v, findings %v", uses, findings)
	}
	spec := input(t, "testdata/disabled-wins", "0.7").Spec
	if uses, findings = serverconfig.SecretUses(spec); len(uses) != 0 || len(findings) != 0 {
		t.Errorf("disabled: uses %v, findings %v", uses, findings)
	}
	if uses, findings = serverconfig.SecretUses(parse.Parse(&v1alpha2.LlamaStackDistributionSpec{})); len(uses) != 0 || len(findings) != 0 {
		t.Errorf("an empty spec: uses %v, findings %v", uses, findings)
	}
}

// Proves: R29, R7 (secrets in settings do not reach the status).
func TestStatusConfigHoldsNoLiteralSecret(t *testing.T) {
	in := input(t, "testdata/literal-secret", "0.7")
	result, findings := serverconfig.Generate(t.Context(), in)
	if result == nil || len(findings.Warnings()) != 1 || findings.Warnings()[0].Reason != problem.LiteralSecret {
		t.Fatalf("findings %v", findings)
	}
	if got := string(result.Providers[0].Config); strings.Contains(got, "hunter2") || !strings.Contains(got, "********") {
		t.Errorf("config for the status: %s", got)
	}
	if got := string(result.Providers[1].Config); !strings.Contains(got, "${env.MY_TOKEN:=none}") {
		t.Errorf("config for the status: %s", got)
	}
	if strings.Contains(findings.Message(), "hunter2") {
		t.Errorf("the finding quotes the value: %v", findings)
	}
	// For types that the release line does not know, the field names decide.
	in.Spec.Source.Providers.Inference.Raw = []byte(`{"provider": "homegrown", "settings": {"api_key": "hunter2", "max_tokens": 5,
		"auth": [{"Password": "hunter2", "token": "${env.MY_TOKEN}"}], "keyspace": "shown"}}`)
	in.Spec = parse.Parse(in.Spec.Source)
	result, findings = serverconfig.Generate(t.Context(), in)
	if result == nil {
		t.Fatalf("findings %v", findings)
	}
	want := `{"api_key":"********","auth":[{"Password":"********","token":"${env.MY_TOKEN}"}],"keyspace":"shown","max_tokens":5}`
	if got := string(result.Providers[0].Config); got != want {
		t.Errorf("config for the status: %s, want %s", got, want)
	}
}

// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/external"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

const base = `
apis: [inference]
providers:
  inference:
  - {provider_id: first, provider_type: remote::vllm, config: {url: a}}
  - {provider_id: "${env.X:+second}", provider_type: remote::ollama, config: {url: b}}
`

// read holds the packages of images.
var read = map[string]external.PackageResult{
	"known":  {Package: &parse.ProviderPackage{Name: "n", Version: "1", Vendor: "v", PackageName: "mod", ProviderType: "remote::new", API: "inference", KeyField: "token"}},
	"vllm":   {Package: &parse.ProviderPackage{PackageName: "fork", ProviderType: "remote::vllm", API: "inference"}},
	"vector": {Package: &parse.ProviderPackage{PackageName: "mod", ProviderType: "inline::db", API: "vector_io"}},
	"alien":  {Package: &parse.ProviderPackage{PackageName: "mod", ProviderType: "inline::x", API: "astrology"}},
	"down":   {Problem: problem.New(problem.Problem{Reason: problem.RegistryUnavailable, Path: "p", Detail: "is down", Fix: "wait"})},
}

func apply(t *testing.T, line, spec string) (string, []string, *problem.Collector) {
	t.Helper()
	doc, env, problems := step.Document(t, base), environment.NewSet(step.Spec(t, "{}")), &problem.Collector{}
	entries, installed := external.Apply(t.Context(), &external.Input{
		Document: doc, Line: step.Line(t, line), Environment: env, Providers: step.Parsed(t, "externalProviders: "+spec).External, Packages: read,
	}, problems)
	var ids []string
	for i := range installed {
		ids = append(ids, installed[i].ID)
		if entries[i].ID != installed[i].ID {
			t.Errorf("entry %d is %s, and %s is installed", i, entries[i].ID, installed[i].ID)
		}
	}
	return step.Text(t, doc), ids, problems
}

// New entries follow those of the base. An entry with an existing id replaces it in place, also if it is conditional.
//
// Proves: FR-090, FR-091, FR-092, R6, R11, R46.
func TestApplyAddsAndReplaces(t *testing.T) {
	got, ids, problems := apply(t, "0.7", `
    inference:
    - {providerId: third, image: known, apiKey: {name: s, key: k}, config: {a: 1}}
    - {providerId: second, image: known}
    toolRuntime: {providerId: tools, image: any, package: {packageName: t, providerType: "inline::t"}}`)
	want := `
apis: [inference, tool_runtime]
providers:
  inference:
  - {provider_id: first, provider_type: remote::vllm, config: {url: a}}
  - {provider_id: second, provider_type: remote::new, module: mod}
  - {provider_id: third, provider_type: remote::new, module: mod, config: {token: "${env.LLSD_THIRD_API_KEY}", a: 1}}
  tool_runtime:
  - {provider_id: tools, provider_type: inline::t, module: t}
`
	if diff := cmp.Diff(step.Compact(t, want), step.Compact(t, got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"third", "second", "tools"}, ids); diff != "" {
		t.Error(diff)
	}
	step.Problems(t, "", problems, "Warning DuplicateProviderID spec.externalProviders.inference[1].providerId\n")
}

// Proves: R25, R46, FR-092.
func TestApplyReportsErrors(t *testing.T) {
	for name, c := range map[string]struct{ line, spec, want string }{
		"being read": {"0.7", "{inference: {providerId: x, image: new}}", "ReadingImageLabels spec.externalProviders.inference.image\n"},
		"unreadable": {"0.7", "{inference: {providerId: x, image: down}}", "RegistryUnavailable spec.externalProviders.inference.image\n"},
		"misplaced":  {"0.7", "{inference: {providerId: x, image: vector}}", "InvalidField spec.externalProviders.inference\n"},
		"of no API":  {"0.7", "{inference: {providerId: x, image: alien}}", "InvalidField spec.externalProviders.inference\n"},
		"API is gone": {
			"1.4", "{safety: {providerId: x, image: new}}",
			"UnsupportedByRelease spec.externalProviders.safety\n",
		},
		"no such field": {
			"0.7", "{inference: {providerId: x, image: known, endpoint: 'http://a', apiKey: {name: a, key: b}}}",
			"UnknownField spec.externalProviders.inference.endpoint\n",
		},
		"set twice": {
			"0.7", "{inference: {providerId: x, image: known, apiKey: {name: a, key: b}, config: {token: c}}}",
			"ConflictingFields spec.externalProviders.inference.config.token\nWarning LiteralSecret spec.externalProviders.inference.config.token\n",
		},
		"two packages of a type": {
			"0.7", "{inference: [{providerId: x, image: known}, {providerId: z, image: a, package: {packageName: other, providerType: 'remote::new'}}]}",
			"ConflictingFields spec.externalProviders.inference[1]\n",
		},
		"the type of another provider": {
			"0.7", "{inference: {providerId: x, image: vllm}}",
			"Warning ConflictingFields spec.externalProviders.inference\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, problems := apply(t, c.line, c.spec)
			step.Problems(t, "", problems, c.want)
		})
	}
}

// The external provider takes no fields from the overridden one, and lookups return the type of its package.
//
// Proves: FR-092.
func TestReplaceWarnsOfEachProviderThatIsOverridden(t *testing.T) {
	spec := step.Parsed(t, `
providers: {inference: [{id: a, provider: vllm}, {id: b, provider: vllm}], safety: {id: c, provider: llama-guard}}
externalProviders: {inference: [{providerId: b, image: known}], safety: {providerId: c, image: new}}`)
	problems := &problem.Collector{}
	kept := external.Replace(spec.Providers, spec.External, problems)
	if len(kept) != 1 || len(kept[0].Providers) != 1 || len(spec.Providers[0].Providers) != 2 {
		t.Errorf("%+v", kept)
	}
	step.Problems(t, "", problems, "Warning DuplicateProviderID spec.providers.inference[1]\nWarning DuplicateProviderID spec.providers.safety\n")
	all := external.Groups(kept, spec.External, read)
	for id, want := range map[string]string{"inference/a": "vllm", "inference/b": "remote::new", "safety/c": "remote::c"} {
		api, id, _ := strings.Cut(id, "/")
		if p := parse.Find(all, api, id); p == nil || p.Type != want {
			t.Errorf("%s: %+v, want type %s", id, p, want)
		}
	}
	if len(kept[0].Providers) != 1 {
		t.Error("the groups are changed")
	}
}

func TestApplyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	entries, installed := external.Apply(ctx, &external.Input{
		Document: step.Document(t, base), Line: step.Newest(t), Providers: step.Parsed(t, "externalProviders: {inference: {providerId: a, image: b}}").External,
	}, &problem.Collector{})
	if entries != nil || installed != nil {
		t.Error(entries, installed)
	}
}

const file = `
apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {name: n, version: "1.2", vendor: v, description: more}
spec:
  packageName: a.b_c
  providerType: inline::x-y
  api: vector_io
  wheelPath: packages/a.whl
  dependencyWheels: [/lls-provider/packages/b.whl]
  fields: {endpoint: uri, apiKey: token}
`

// Proves: R46.
func TestReadPackage(t *testing.T) {
	got, err := external.ReadPackage([]byte(file))
	want := &parse.ProviderPackage{
		Name: "n", Version: "1.2", Vendor: "v", PackageName: "a.b_c", ProviderType: "inline::x-y", API: "vector_io", EndpointField: "uri", KeyField: "token",
		Wheels: []string{"/lls-provider/packages/a.whl", "/lls-provider/packages/b.whl"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if got := got.Placement(); got != "spec.externalProviders.vectorIo" {
		t.Error(got)
	}
}

// Proves: R46, R63.
func TestReadPackageReportsErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"another version":   {"v1alpha1", "v2", "apiVersion: Invalid value: must be llamastack.io/v1alpha1: use a package of this version of the format"},
		"another kind":      {"ProviderPackage", "Pod", "kind: Invalid value: must be ProviderPackage: use a package of this version of the format"},
		"a number":          {`"1.2"`, "1.2", "metadata.version: Invalid value: must be a string: put the value in quotes"},
		"no vendor":         {", vendor: v", "", "metadata.vendor: Required value: for example vendor: example.com"},
		"no module":         {"a.b_c", "a-b", "spec.packageName: Invalid value: is not the name of a Python package: write it as Python imports it, for example my_provider"},
		"no type":           {"inline::x-y", "x-y", "spec.providerType: Invalid value: is not a provider type: write remote::<name> or inline::<name>"},
		"another directory": {"packages/a.whl", "../etc/a.whl", "spec.wheelPath: Invalid value: is not a wheel below /lls-provider: for example /lls-provider/packages/my_provider-1.0.0-py3-none-any.whl"},
		"no wheel":          {"/lls-provider/packages/b.whl", "{}", "spec.dependencyWheels[0]: Invalid value: must be a path"},
		"no list":           {"[/lls-provider/packages/b.whl]", "b", "spec.dependencyWheels: Invalid value: must be a list of paths"},
		"many wheels":       {"[/lls-provider/packages/b.whl]", "[" + strings.Repeat("a.whl, ", limits.ProviderWheels) + "]", "spec.dependencyWheels: Invalid value: has 500 paths, and a package has at most 500 wheels"},
		"two lines":         {"/lls-provider/packages/b.whl", `"a\nb.whl"`, "spec.dependencyWheels[0]: Invalid value: is not a wheel below /lls-provider"},
		"a long path":       {"/lls-provider/packages/b.whl", strings.Repeat("a", limits.WheelPathBytes) + ".whl", "spec.dependencyWheels[0]: Invalid value: is not a wheel below"},
		"aliases":           {"more}", "more, a: &a [x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c], e: &e [*d,*d,*d,*d,*d,*d,*d,*d], f: [*e,*e,*e,*e,*e]}", ""},
		"unknown field":     {"wheelPath", "wheelpath", `spec.wheelPath: Required value: for example wheelPath: /lls-provider/packages/my_provider-1.0.0-py3-none-any.whl; spec.wheelpath: Invalid value: unknown field: did you mean "wheelPath"?`},
		"unknown meaning":   {"{endpoint: uri", "{url: uri", "spec.fields.url: Invalid value: unknown field: known fields: endpoint, apiKey"},
		"no field":          {"uri", "'a b'", "spec.fields.endpoint: Invalid value: is not the name of a config field: for example base_url"},
		"no section":        {"\nspec:", "\nspec: []\nspex:", "spec: Invalid value: must be an object"},
		"no YAML":           {"spec:", "spec: [", ""},
		"no map":            {file, "[a]", "line 1: the document is not a map"},
		"too large":         {"more}", strings.Repeat("x", limits.PackageBytes) + "}", "is larger than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(file, c.from) {
				t.Fatalf("the file has no %q", c.from)
			}
			got, err := external.ReadPackage([]byte(strings.Replace(file, c.from, c.to, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || got != nil {
				t.Errorf("%+v, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// BenchmarkGenerate generates the configuration of the sample: vLLM with a key and one model on the starter.
//
// Proves: NFR-002.
func BenchmarkGenerate(b *testing.B) {
	in := input(b, "testdata/vllm-with-key", "0.7")
	b.ReportAllocs()
	report := framework.ReportCPU(b)
	for b.Loop() {
		if result, findings := serverconfig.Generate(b.Context(), in); result == nil {
			b.Fatal(findings)
		}
	}
	report()
}

// FuzzGenerate generates from any base and spec on any release line. It must not panic, findings are complete, inputs
// stay unchanged, and the result is a valid base that keeps unknown keys.
//
// Proves: NFR-001, NFR-004, R9, R13, L-11.
func FuzzGenerate(f *testing.F) {
	small := read(f, "testdata/tools-mcp/base.yaml")
	for n, dir := range cases(f) {
		in := input(f, dir, "0.7")
		// The starter is much larger than useful for mutations.
		base, err := os.ReadFile(filepath.Join(dir, "base.yaml"))
		if err != nil {
			base = small
		}
		parts := map[string]string{"disabled": strings.Join(in.Spec.Source.Disabled, ",")}
		if p := in.Spec.Source.Providers; p != nil {
			parts["inference"], parts["safety"], parts["vectorIo"] = rawOf(p.Inference), rawOf(p.Safety), rawOf(p.VectorIo)
			parts["toolRuntime"], parts["telemetry"] = rawOf(p.ToolRuntime), rawOf(p.Telemetry)
		}
		if r := in.Spec.Source.Resources; r != nil {
			parts["models"], parts["tools"], parts["shields"] = listOf(r.Models), listOf(r.Tools), listOf(r.Shields)
		}
		f.Add(uint8(n), base, parts["inference"], parts["safety"], parts["vectorIo"], parts["toolRuntime"], parts["telemetry"],
			parts["models"], parts["tools"], parts["shields"], parts["disabled"])
	}
	f.Fuzz(func(t *testing.T, line uint8, data []byte,
		inference, safety, vectorIo, toolRuntime, telemetry, models, tools, shields, disabled string,
	) {
		base, err := document.ParseBase("fuzz", data)
		if err != nil {
			return
		}
		_ = release.Lines(base) // it must not panic for any base
		spec := &v1alpha2.LlamaStackDistributionSpec{
			Providers: &v1alpha2.ProvidersSpec{
				Inference: openJSON(inference), Safety: openJSON(safety), VectorIo: openJSON(vectorIo),
				ToolRuntime: openJSON(toolRuntime), Telemetry: openJSON(telemetry),
			},
			Resources: &v1alpha2.ResourcesSpec{Models: openList(models), Tools: openList(tools), Shields: openList(shields)},
		}
		if disabled != "" {
			spec.Disabled = strings.Split(disabled, ",")
		}
		checkGeneration(t, serverconfig.Input{Name: "n", Namespace: "ns", Base: base, Line: serverconfig.KnownLine(line), Spec: parse.Parse(spec)})
	})
}

func rawOf(j *apiextensionsv1.JSON) string {
	if j == nil {
		return ""
	}
	return string(j.Raw)
}

func listOf(items []apiextensionsv1.JSON) string {
	raws := make([]string, len(items))
	for i := range items {
		raws[i] = string(items[i].Raw)
	}
	return "[" + strings.Join(raws, ",") + "]"
}

func openJSON(text string) *apiextensionsv1.JSON {
	if text == "" {
		return nil
	}
	return &apiextensionsv1.JSON{Raw: []byte(text)}
}

// openList reads a JSON list as the API server does. Any other value is an item by itself.
func openList(text string) []apiextensionsv1.JSON {
	var raws []json.RawMessage
	if json.Unmarshal([]byte(text), &raws) != nil {
		raws = []json.RawMessage{json.RawMessage(text)}
	}
	items := make([]apiextensionsv1.JSON, len(raws))
	for i := range raws {
		items[i].Raw = raws[i]
	}
	return items
}

func checkGeneration(t *testing.T, in serverconfig.Input) {
	t.Helper()
	specBefore, baseBefore := in.Spec.Source.DeepCopy(), serverconfig.Snapshot(in.Base)
	result, findings := serverconfig.Generate(t.Context(), in)
	if (result == nil) != findings.HasErrors() {
		t.Fatalf("result %v with findings %v", result, findings)
	}
	for _, finding := range findings {
		if finding.Path == "" || finding.Body() == "" {
			t.Errorf("incomplete finding %+v", finding)
		}
	}
	if diff := cmp.Diff(specBefore, in.Spec.Source); diff != "" {
		t.Errorf("the spec was changed:\n%s", diff)
	}
	if serverconfig.Snapshot(in.Base) != baseBefore {
		t.Errorf("the base was changed")
	}
	if result == nil {
		return
	}
	if again, _ := serverconfig.Generate(t.Context(), in); !bytes.Equal(again.YAML, result.YAML) {
		t.Error("the same input gives other bytes")
	}
	generated, err := document.ParseBase("generated", result.YAML)
	if err != nil {
		t.Fatalf("the result is not a configuration: %v\n%s", err, result.YAML)
	}
	if broken := serverconfig.CheckIntegrity(in, generated, result.Env); len(broken) > 0 {
		t.Errorf("the result does not hold together: %v", broken)
	}
	checkSurvival(t, in, result)
}

// checkSurvival checks that the result keeps server.auth, unknown sections, and entries that it does not replace.
func checkSurvival(t *testing.T, in serverconfig.Input, result *serverconfig.Result) {
	t.Helper()
	before, _ := decodeYAML(t, []byte(serverconfig.Snapshot(in.Base))).(map[string]any)
	after, _ := decodeYAML(t, result.YAML).(map[string]any)
	auth := func(root map[string]any) any { server, _ := root["server"].(map[string]any); return server["auth"] }
	if diff := cmp.Diff(auth(before), auth(after)); diff != "" {
		t.Errorf("server.auth changed:\n%s", diff)
	}
	if len(in.Spec.Source.Disabled) > 0 {
		return
	}
	overlaid := map[string]bool{}
	for _, p := range result.Providers {
		overlaid[p.API+"/"+p.ID] = true
	}
	for _, api := range slices.Sorted(maps.Keys(asMap(before["providers"]))) {
		for _, entry := range asList(asMap(before["providers"])[api]) {
			id := serverconfig.IDOf(fmt.Sprint(asMap(entry)["provider_id"]))
			if !overlaid[api+"/"+id] && !hasLike(asList(asMap(after["providers"])[api]), asMap(entry), "provider_id") {
				t.Errorf("the provider %v of %s lost something", entry, api)
			}
		}
	}
	for name, list := range asMap(before["registered_resources"]) {
		for _, entry := range asList(list) {
			if !hasLike(asList(asMap(after["registered_resources"])[name]), asMap(entry), "provider_id", "provider_shield_id", "provider_model_id", "model_type", "mcp_endpoint", "metadata") {
				t.Errorf("the entry %v of %s lost something", entry, name)
			}
		}
	}
	for key, value := range before {
		if _, known := in.Line.Sections[key]; !known && !cmp.Equal(value, after[key]) {
			t.Errorf("the unknown section %s changed", key)
		}
	}
}

// hasLike reports whether a list has a map with all keys of wanted and, except for the changeable keys, their values.
func hasLike(list []any, wanted map[string]any, changeable ...string) bool {
	return slices.ContainsFunc(list, func(item any) bool {
		there := asMap(item)
		for key, value := range wanted {
			if got, ok := there[key]; !slices.Contains(changeable, key) && (!ok || !cmp.Equal(got, value)) {
				return false
			}
		}
		return true
	})
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func asList(v any) []any { l, _ := v.([]any); return l }

// FuzzParseBase parses arbitrary YAML. It must not panic, must report errors, and must read its own output.
//
// Proves: R9, L-11.
func FuzzParseBase(f *testing.F) {
	starter, _ := distributions.Base("starter", "0.7")
	f.Add(starter)
	f.Add([]byte("a: &x {b: 1, c: [1e3, yes, '1:30']}\nd: {<<: *x, b: 2}\nproviders: {inference: [*x]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		base, err := document.ParseBase("fuzz", data)
		if !bytes.Equal(before, data) {
			t.Error("the input was changed")
		}
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without a text")
			}
			return
		}
		again, err := document.ParseBase("fuzz", []byte(serverconfig.Snapshot(base)))
		if err != nil {
			t.Fatalf("cannot read what it wrote: %v\n%s", err, serverconfig.Snapshot(base))
		}
		if diff := cmp.Diff(serverconfig.Snapshot(base), serverconfig.Snapshot(again)); diff != "" {
			t.Errorf("not the same when read again:\n%s", diff)
		}
	})
}

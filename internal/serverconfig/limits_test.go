// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// over returns an input with the starter base of a release line.
func over(tb testing.TB, line string, spec *v1alpha2.LlamaStackDistributionSpec) serverconfig.Input {
	tb.Helper()
	l, ok := catalog.Get(line)
	data, found := distributions.Base("starter", line)
	if !ok || !found {
		tb.Fatalf("no starter for %s", line)
	}
	base, err := document.ParseBase("starter", data)
	framework.NoError(tb, err)
	return serverconfig.Input{Name: "s", Namespace: "ns", Spec: parse.Parse(spec), Base: base, Line: l}
}

func open(tb testing.TB, value any) *apiextensionsv1.JSON {
	tb.Helper()
	raw, err := json.Marshal(value)
	framework.NoError(tb, err)
	return &apiextensionsv1.JSON{Raw: raw}
}

func items(tb testing.TB, count int, item func(int) any) []apiextensionsv1.JSON {
	tb.Helper()
	list := make([]apiextensionsv1.JSON, count)
	for i := range list {
		list[i] = *open(tb, item(i))
	}
	return list
}

func eachOf(count int, item func(int) any) []any {
	list := make([]any, count)
	for i := range list {
		list[i] = item(i)
	}
	return list
}

func mapOf(count int, value any) map[string]any {
	m := make(map[string]any, count)
	for i := range count {
		m[fmt.Sprintf("key_%05d", i)] = value
	}
	return m
}

type object = map[string]any

// shapes are specs with one list or map of a given length, and the maximum length.
var shapes = map[string]struct {
	most int
	spec func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec
}{
	"models": {limits.Models, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{
			Providers: &v1alpha2.ProvidersSpec{Inference: open(tb, object{"provider": "vllm", "endpoint": "http://vllm:8000"})},
			Resources: &v1alpha2.ResourcesSpec{Models: items(tb, count, func(i int) any { return object{"name": fmt.Sprintf("model-%d", i), "provider": "vllm"} })},
		}
	}},
	"shields": {limits.Shields, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{
			Providers: &v1alpha2.ProvidersSpec{Inference: open(tb, object{"provider": "vllm", "endpoint": "http://vllm:8000"}), Safety: open(tb, object{"provider": "llama-guard"})},
			Resources: &v1alpha2.ResourcesSpec{
				Models: items(tb, 10, func(i int) any { return fmt.Sprintf("guard-%d", i) }),
				Shields: items(tb, count, func(i int) any {
					return object{"id": fmt.Sprintf("shield-%d", i), "model": fmt.Sprintf("guard-%d", i%10)}
				}),
			},
		}
	}},
	"tools": {limits.Tools, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Tools: items(tb, count, func(i int) any {
			return object{"name": fmt.Sprintf("mcp::server-%d", i), "endpoint": "http://mcp:8000/mcp"}
		})}}
	}},
	"providers": {limits.ProvidersPerAPI, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{Inference: open(tb, eachOf(count, func(i int) any {
			return object{"id": fmt.Sprintf("vllm-%d", i), "provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": object{"name": "keys", "key": "vllm"}}
		}))}}
	}},
	"settings of a type that the line does not know": {10_000, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
			Inference: open(tb, object{"provider": "remote::our-own", "settings": mapOf(count, "value")}),
		}}
	}},
	"a map in settings": {10_000, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
			Inference: open(tb, object{"provider": "vllm", "endpoint": "http://vllm:8000", "settings": object{"network": mapOf(count, 7)}}),
		}}
	}},
	"secretRefs": {4_000, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
			Inference: open(tb, object{"provider": "remote::our-own", "secretRefs": mapOf(count, object{"name": "keys", "key": "k"})}),
		}}
	}},
	"references to the environment": {10_000, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{Inference: open(tb, object{
			"provider": "remote::our-own", "settings": object{"list": eachOf(count, func(i int) any { return fmt.Sprintf("${env.V%d}", i) })},
		})}}
	}},
	"unknown providers of models": {limits.Models, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Models: items(tb, count, func(i int) any {
			return object{"name": fmt.Sprintf("model-%d", i), "provider": fmt.Sprintf("nobody-%d", i)}
		})}}
	}},
	"shields without a model": {limits.Shields, func(tb testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{
			Providers: &v1alpha2.ProvidersSpec{Safety: open(tb, object{"provider": "llama-guard"})},
			Resources: &v1alpha2.ResourcesSpec{Shields: items(tb, count, func(i int) any { return fmt.Sprintf("shield-%d", i) })},
		}
	}},
	"unknown names in disabled": {limits.DisabledNames, func(_ testing.TB, count int) *v1alpha2.LlamaStackDistributionSpec {
		return &v1alpha2.LlamaStackDistributionSpec{Disabled: strings.Fields(strings.Repeat("inferense ", count))}
	}},
}

// BenchmarkGrowth generates from lists and maps of half and of full length. Linear work doubles.
//
// Proves: R63.
func BenchmarkGrowth(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		for _, count := range []int{shape.most / 2, shape.most} {
			in := over(b, "0.7", shape.spec(b, count))
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "_"), count), func(b *testing.B) {
				b.ReportAllocs()
				report := framework.ReportCPU(b)
				for b.Loop() {
					serverconfig.Generate(b.Context(), in)
				}
				report()
			})
		}
	}
}

// largest returns a spec at the limits: full lists, and the remaining values in settings.
func largest(tb testing.TB) *v1alpha2.LlamaStackDistributionSpec {
	tb.Helper()
	providers := eachOf(limits.ProvidersPerAPI, func(i int) any {
		return object{"id": fmt.Sprintf("vllm-%d", i), "provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": object{"name": "keys", "key": "vllm"}}
	})
	providers[0].(object)["settings"] = object{"network": mapOf(7_000, "value")}
	return &v1alpha2.LlamaStackDistributionSpec{
		Providers: &v1alpha2.ProvidersSpec{Inference: open(tb, providers), Safety: open(tb, object{"provider": "llama-guard"})},
		Resources: &v1alpha2.ResourcesSpec{
			Models: items(tb, limits.Models, func(i int) any {
				return object{"name": fmt.Sprintf("guard-%d", i), "provider": fmt.Sprintf("vllm-%d", i%limits.ProvidersPerAPI)}
			}),
			Shields: items(tb, limits.Shields, func(i int) any {
				return object{"id": fmt.Sprintf("shield-%d", i), "model": fmt.Sprintf("vllm-%d/guard-%d", i%limits.ProvidersPerAPI, i)}
			}),
			Tools: items(tb, limits.Tools, func(i int) any {
				return object{"name": fmt.Sprintf("mcp::server-%d", i), "endpoint": "http://mcp:8000/mcp"}
			}),
		},
	}
}

// BenchmarkLargest generates the configuration of the largest spec, and reports the peak of the heap.
//
// Proves: R63.
func BenchmarkLargest(b *testing.B) {
	in := over(b, "0.7", largest(b))
	if result, findings := serverconfig.Generate(b.Context(), in); result == nil {
		b.Fatal(findings)
	}
	b.ReportAllocs()
	peak, cpu := framework.ReportPeakHeap(b), framework.ReportCPU(b)
	for b.Loop() {
		serverconfig.Generate(b.Context(), in)
	}
	cpu()
	peak()
}

// Proves: R63 (the number and the length of problems are bounded, with a count of the rest).
func TestGenerateReportsFewAndShortProblems(t *testing.T) {
	for name, shape := range shapes {
		for _, line := range []string{"0.3", "0.7", catalog.Newest()} {
			for _, count := range []int{shape.most, shape.most + 1} {
				_, findings := serverconfig.Generate(t.Context(), over(t, line, shape.spec(t, count)))
				if errs, warnings := findings.Errors(), findings.Warnings(); len(errs) > limits.Problems+1 || len(warnings) > limits.Problems+1 {
					t.Errorf("%s of %d on %s: %d errors and %d warnings", name, count, line, len(errs), len(warnings))
				}
				for _, f := range findings {
					if text := f.String(); len(text) > limits.MessageBytes || !utf8.ValidString(text) {
						t.Errorf("%s of %d on %s: a message of %d bytes: %s", name, count, line, len(text), text)
					}
				}
			}
		}
	}
	in := over(t, "0.7", shapes["unknown providers of models"].spec(t, limits.Models))
	_, findings := serverconfig.Generate(t.Context(), in)
	if last := findings[len(findings)-1]; len(findings) != limits.Problems+1 || !strings.Contains(last.String(), "950: more problems") {
		t.Errorf("%d findings, the last: %s", len(findings), last)
	}
}

// Proves: R63 (a spec over a limit is rejected before it is processed).
func TestGenerateRejectsSpecsAboveLimits(t *testing.T) {
	spec := shapes["models"].spec(t, limits.Models+1)
	result, findings := serverconfig.Generate(t.Context(), over(t, "0.7", spec))
	if want := "spec.resources.models: Too many: 1001: must have at most 1000 items"; result != nil || len(findings) != 1 || !strings.HasPrefix(findings[0].String(), want) {
		t.Errorf("%v", findings)
	}
	byProvider := object{}
	for i := range limits.References {
		byProvider[fmt.Sprintf("ref_%d", i)] = object{"name": fmt.Sprintf("secret-%d", i), "key": "k"}
	}
	many := &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
		Inference: open(t, object{"provider": "remote::our-own", "secretRefs": byProvider}),
	}}
	if uses, findings := serverconfig.SecretUses(parse.Parse(many)); len(uses) != limits.References || len(findings) > 0 {
		t.Errorf("%d uses, %v", len(uses), findings)
	}
	byProvider["one_more"] = object{"name": "one-more", "key": "k"}
	many.Providers.Inference = open(t, object{"provider": "remote::our-own", "secretRefs": byProvider})
	if uses, findings := serverconfig.SecretUses(parse.Parse(many)); uses != nil || !strings.Contains(findings.Message(), "refers to 201 Secrets; the maximum is 200") {
		t.Errorf("%v %v", uses, findings)
	}
	spec.Resources.Models[7] = apiextensionsv1.JSON{Raw: []byte(strings.Repeat("[", 100) + strings.Repeat("]", 100))}
	spec.Resources.Models = spec.Resources.Models[:10]
	if uses, findings := serverconfig.SecretUses(parse.Parse(spec)); uses != nil || len(findings) != 1 || !strings.Contains(findings.Message(), "spec.resources.models[7]") {
		t.Errorf("%v %v", uses, findings)
	}
}

// Proves: R63 (the writer stops at the limit of config.yaml; indentation inflates small JSON).
func TestGenerateRefusesConfigThatIsTooLarge(t *testing.T) {
	var value any = mapOf(18_000, "v")
	for range 55 {
		value = object{"a": value}
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
		Inference: open(t, object{"provider": "remote::our-own", "settings": value}),
	}}
	result, findings := serverconfig.Generate(t.Context(), over(t, "0.7", spec))
	if want := "the generated config.yaml is larger than 1000000 bytes"; result != nil || !strings.Contains(findings.Errors().Message(), want) {
		t.Errorf("%v", findings)
	}
}

// Proves: R63 (a canceled generation reports no error of the user).
func TestGenerateStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("caller stopped"))
	result, findings := serverconfig.Generate(ctx, over(t, "0.7", shapes["models"].spec(t, 10)))
	if result != nil || len(findings) != 1 || findings[0].Reason != problem.LookupFailed || !strings.Contains(findings[0].String(), "caller stopped") {
		t.Errorf("%v %v", result, findings)
	}
}

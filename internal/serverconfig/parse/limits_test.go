// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

func listOf(item string, count int) string {
	return "[" + strings.Repeat(item+",", count-1) + item + "]"
}

func open(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

func openItems(item string, count int) []apiextensionsv1.JSON {
	items := make([]apiextensionsv1.JSON, count)
	for i := range items {
		items[i] = *open(item)
	}
	return items
}

// Proves: R63 (limits are exact).
func TestCheckBoundsNamesTheFieldAndTheBound(t *testing.T) {
	half := limits.OpenFieldNodes / 2
	for name, c := range map[string]struct {
		spec func(more int) *v1alpha2.LlamaStackDistributionSpec
		want string
	}{
		"levels of a provider": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{Inference: open(nested(limits.OpenFieldLevels + more))}}
		}, "spec.providers.inference.a.a"},
		"levels of a model": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Models: []apiextensionsv1.JSON{*open(`"m"`), *open(nested(limits.OpenFieldLevels + more))}}}
		}, "spec.resources.models[1].a.a"},
		"levels of expose": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{Expose: open(nested(limits.OpenFieldLevels + more))}}
		}, "at most 64 levels"},
		"levels of external providers": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{ExternalProviders: open(nested(limits.OpenFieldLevels + more))}
		}, "at most 64 levels"},
		"values together": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{
				Safety: open(`{"settings":` + listOf("1", half-2) + "}"), VectorIo: open(`{"settings":` + listOf("1", half-2+more) + "}"),
			}}
		}, "spec.providers.vectorIo: Invalid value: the open fields of a spec may have at most 20000 values in total"},
		"providers of an API": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Providers: &v1alpha2.ProvidersSpec{ToolRuntime: open(listOf("{}", limits.ProvidersPerAPI+more))}}
		}, "spec.providers.toolRuntime: Too many: 101: must have at most 100 items"},
		"models": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Models: openItems(`"m"`, limits.Models+more)}}
		}, "spec.resources.models: Too many: 1001"},
		"tools": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Tools: openItems(`"m"`, limits.Tools+more)}}
		}, "spec.resources.tools: Too many: 1001"},
		"vector stores": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{VectorStores: make([]v1alpha2.VectorStore, limits.VectorStores+more)}}
		}, "spec.resources.vectorStores: Too many: 201"},
		"shields": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Resources: &v1alpha2.ResourcesSpec{Shields: openItems(`"m"`, limits.Shields+more)}}
		}, "spec.resources.shields: Too many: 1001"},
		"disabled": {func(more int) *v1alpha2.LlamaStackDistributionSpec {
			return &v1alpha2.LlamaStackDistributionSpec{Disabled: make([]string, limits.DisabledNames+more)}
		}, "spec.disabled: Too many: 51"},
	} {
		if problems := CheckLimits(c.spec(0)); len(problems) > 0 {
			t.Errorf("%s: as many as may be: %v", name, problems)
		}
		problems := CheckLimits(c.spec(1))
		if len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) || len(problems[0].String()) > limits.MessageBytes {
			t.Errorf("%s: one more: %v, want %s", name, problems, c.want)
		}
	}
}

// Proves: R63 (no parser decodes a value that is too large).
func TestParsersRejectTooLargeInput(t *testing.T) {
	deep := nested(limits.OpenFieldLevels + 1)
	wide := listOf("1", limits.OpenFieldNodes)
	for name, problems := range map[string]problem.List{
		"deep provider": problemsOf(parseProviders(&v1alpha2.ProvidersSpec{Inference: open(deep)})),
		"wide provider": problemsOf(parseProviders(&v1alpha2.ProvidersSpec{Inference: open(wide)})),
		"deep model":    problemsOf(parseModels([]apiextensionsv1.JSON{*open(deep)})),
		"deep expose":   problemsOf(ExposeField(open(deep))),
	} {
		if text := fmt.Sprint(problems); !strings.Contains(text, "must nest at most 64 levels") && !strings.Contains(text, "at most 20000 values") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func problemsOf[T any](_ T, problems problem.List) problem.List { return problems }

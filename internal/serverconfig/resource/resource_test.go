// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// testCase is a spec that is applied to a configuration. The release line defaults to 0.7.
type testCase struct {
	line, base, spec string
	change           func(*catalog.Line)
	// want is the list of models, shields or tools. uses are the providers that they use.
	want, uses, problems string
}

func (c *testCase) apply(ctx context.Context, t *testing.T, found *problem.Collector) (configuration, uses string) {
	t.Helper()
	name := c.line
	if name == "" {
		name = "0.7"
	}
	line := step.Line(t, name)
	if c.change != nil {
		c.change(line)
	}
	parsed, doc := step.Parsed(t, c.spec), step.Document(t, c.base)
	used, _ := resource.Apply(ctx, &resource.Input{
		Document: doc, Line: line, Environment: environment.NewSet(parsed.Source), Providers: parsed.Providers,
		Models: parsed.Models, Shields: parsed.Shields, VectorStores: parsed.VectorStores, Tools: parsed.Tools,
	}, found)
	var b strings.Builder
	for _, use := range used {
		b.WriteString(use.API + "/" + use.ID + " " + use.Path + "\n")
	}
	return step.Text(t, doc), b.String()
}

// absent stands for a missing section.
const absent = "absent"

func wanted(t *testing.T, section, text string) string {
	t.Helper()
	if text == absent {
		return ""
	}
	return step.Section(t, section+": "+text, section)
}

func run(t *testing.T, section string, cases map[string]testCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found := &problem.Collector{}
			configuration, uses := c.apply(t.Context(), t, found)
			if diff := cmp.Diff(wanted(t, section, c.want), step.Section(t, configuration, section)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", section, diff)
			}
			if diff := cmp.Diff(c.uses, uses); diff != "" {
				t.Errorf("uses (-want +got):\n%s", diff)
			}
			step.Problems(t, "", found, c.problems)
		})
	}
}

const models = "spec.resources.models"

// Proves: FR-040, FR-041, R9, R23.
func TestApplyRegistersModels(t *testing.T) {
	const (
		vllm = "providers: {inference: [{provider_id: v, provider_type: remote::vllm}]}\n"
		two  = "providers: {inference: [{provider_id: a, provider_type: remote::vllm}, {provider_id: b, provider_type: remote::vllm}]}\n"
		// The second provider is unconditional, the first one depends on a variable.
		conditional = "providers: {inference: [{provider_id: '${env.C:+c}', provider_type: remote::vllm}, {provider_id: v, provider_type: remote::vllm}]}\n"
		ambiguous   = "MissingField spec.resources.models[0]\n"
	)
	run(t, "registered_resources", map[string]testCase{
		"nothing": {base: vllm + "registered_resources: {models: [{model_id: x}]}\n", spec: "{}", want: "{models: [{model_id: x}]}"},
		"the only provider of the base": {
			base: conditional, spec: "resources: {models: [m]}", want: "{models: [{model_id: m, provider_id: v, model_type: llm}]}", uses: "inference/v " + models + "[0]\n",
		},
		"the first provider of the spec": {
			base: two, spec: "{providers: {safety: {provider: x}, inference: [{provider: vllm, id: b}, {provider: vllm, id: a}]}, resources: {models: [m]}}",
			want: "{models: [{model_id: m, provider_id: b, model_type: llm}]}", uses: "inference/b " + models + "[0]\n",
		},
		"the provider that it names": {
			base: two, spec: "{providers: {inference: {provider: vllm, id: b}}, resources: {models: [{name: m, provider: a}]}}",
			want: "{models: [{model_id: m, provider_id: a, model_type: llm}]}", uses: "inference/a " + models + "[0]\n",
		},
		"two providers of the base": {base: two, spec: "resources: {models: [m]}", want: "{models: []}", problems: ambiguous},
		"no provider of the base":   {base: "", spec: "resources: {models: [m]}", want: "{models: []}", problems: ambiguous},
		"an unknown provider": {
			base: two, spec: "resources: {models: [{name: m, provider: c}]}", want: "{models: []}",
			problems: "UnknownProvider spec.resources.models[0].provider\n",
		},
		"a conditional provider keeps its condition": {
			base: conditional, spec: "resources: {models: [{name: m, provider: c}]}", want: "{models: [{model_id: m, provider_id: '${env.C:+c}', model_type: llm}]}",
			uses:     "inference/c " + models + "[0]\n",
			problems: "Warning ProviderNotEnabled spec.resources.models[0].provider\n",
		},
		"a conditional provider that the spec turns on": {
			base: conditional, spec: "{workload: {overrides: {env: [{name: C, value: x}]}}, resources: {models: [{name: m, provider: c}]}}",
			want: "{models: [{model_id: m, provider_id: '${env.C:+c}', model_type: llm}]}", uses: "inference/c " + models + "[0]\n",
		},
		"over the model of the base": {
			base: vllm + "registered_resources: {models: [{model_id: m, provider_id: w}, {model_id: m, provider_id: v, model_type: rerank, metadata: {a: 1}}, {model_id: m, provider_id: v}]}\n",
			spec: "resources: {models: [{name: m, metadata: {b: 2}}]}", uses: "inference/v " + models + "[0]\n",
			want: "{models: [{model_id: m, provider_id: w}, {model_id: m, provider_id: v, model_type: rerank, metadata: {a: 1, b: 2}}, {model_id: m, provider_id: v}]}",
		},
		"all that it has": {
			base: vllm, uses: "inference/v " + models + "[0]\n",
			spec: "resources: {models: [{name: m, providerModelId: p, modelType: embedding, contextLength: 5, quantization: q, embeddingDimension: 7, metadata: {a: [1]}}]}",
			want: "{models: [{model_id: m, provider_id: v, provider_model_id: p, model_type: embedding, " +
				"metadata: {a: [1], context_length: 5, quantization: q, embedding_dimension: 7}}]}",
		},
		"one thing written twice": {
			base: vllm, uses: "inference/v " + models + "[0]\n", spec: "resources: {models: [{name: m, contextLength: 5, metadata: {context_length: 6}}]}",
			want:     "{models: [{model_id: m, provider_id: v, model_type: llm, metadata: {context_length: 6}}]}",
			problems: "ConflictingFields spec.resources.models[0].metadata.context_length\n",
		},
		"served under one name": {
			base: vllm, uses: "inference/v " + models + "[0]\n", spec: "resources: {models: [{name: m}, {name: x, providerModelId: m}]}",
			want:     "{models: [{model_id: m, provider_id: v, model_type: llm}]}",
			problems: "ConflictingFields spec.resources.models[1]\n",
		},
		"a type that the release line lacks": {
			line: "0.3", base: vllm, uses: "inference/v " + models + "[0]\n", spec: "resources: {models: [{name: m, modelType: rerank}]}",
			want:     "{models: [{model_id: m, provider_id: v, model_type: rerank}]}",
			problems: "UnsupportedByRelease spec.resources.models[0].modelType\n",
		},
		"a release line with unknown types": {
			base: vllm, uses: "inference/v " + models + "[0]\n", spec: "resources: {models: [{name: m, modelType: rerank}]}",
			want:   "{models: [{model_id: m, provider_id: v, model_type: rerank}]}",
			change: func(l *catalog.Line) { l.Objects = nil },
		},
	})
}

func TestServedNameFollowsTheReleaseLine(t *testing.T) {
	for _, c := range []struct {
		all, modelID               bool
		provider, model, own, want string
	}{
		{false, false, "v", "m", "", "v/m"},
		{false, false, "v", "m", "p", "v/p"},
		{false, false, "all", "m", "", "all/m"},
		{true, false, "all", "m", "p", "m"},
		{true, false, "v", "m", "", "v/m"},
		{false, true, "v", "m", "p", "v/m"},
		{false, true, "v", "v/m", "", "v/m"},
		{false, false, "v", "v/m", "", "v/v/m"},
	} {
		line := &catalog.Line{AllProviders: c.all, ServesModelID: c.modelID}
		if got := resource.ServedName(line, c.provider, c.model, c.own); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestServedModelsOmitsMissingModels(t *testing.T) {
	doc := step.Document(t, `
registered_resources:
  models:
  - {model_id: a, provider_id: v}
  - {provider_id: v}
  - {model_id: b, provider_id: __disabled__}
  - {model_id: c, provider_id: '${env.X:+w}', model_type: llm, provider_model_id: p}
  - {model_id: d, provider_id: v, model_type: embedding}
`)
	got := resource.ServedModels(doc, step.Line(t, "0.7"), v1alpha2.ModelTypeLLM)
	if diff := cmp.Diff([]resource.ServedModel{{ID: "a", Served: "v/a"}, {ID: "c", Served: "w/p"}}, got, cmpopts.IgnoreUnexported(resource.ServedModel{})); diff != "" {
		t.Error(diff)
	}
}

func TestApplyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := testCase{base: "", spec: "resources: {models: [a], shields: [b], tools: [websearch]}"}
	found := &problem.Collector{}
	if _, uses := c.apply(ctx, t, found); uses != "" || len(found.List()) > 0 {
		t.Errorf("%s%s", uses, step.Texts(found))
	}
}

// In a list with many faults, each fault over the limit is counted once.
func TestApplyCountsOmittedProblems(t *testing.T) {
	for _, spec := range []string{
		"resources: {models: [m]}", "resources: {models: [{name: m, provider: gone}]}", "resources: {shields: [s]}", "resources: {shields: [{id: s, provider: gone}]}",
		"resources: {shields: [{id: s, provider: g}]}", "resources: {tools: [nonsense]}", "resources: {tools: [websearch]}",
		"resources: {tools: [{name: websearch, provider: gone}]}",
	} {
		found := &problem.Collector{}
		for range limits.Problems {
			found.Add(problem.Problem{Reason: problem.InvalidField, Path: "spec.x"})
		}
		c := testCase{base: "providers: {inference: [], safety: [{provider_id: g, provider_type: inline::llama-guard}, {provider_id: h, provider_type: inline::llama-guard}]}\n", spec: spec}
		c.apply(t.Context(), t, found)
		if list := found.List(); len(list) != limits.Problems+1 || fmt.Sprint(list[limits.Problems].Value) != "1" {
			t.Errorf("%s: %s", spec, list[len(list)-1])
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

const shields = "spec.resources.shields"

// Proves: FR-042, R24, R39.
func TestApplyRegistersShields(t *testing.T) {
	const (
		scanner = "providers: {safety: [{provider_id: s, provider_type: inline::code-scanner}]}\n"
		two     = "providers: {safety: [{provider_id: s, provider_type: inline::code-scanner}, {provider_id: other, provider_type: inline::code-scanner}]}\n"
		// The second provider is unconditional, the first one depends on a variable.
		conditional = "providers: {safety: [{provider_id: '${env.C:+c}', provider_type: inline::code-scanner}, {provider_id: s, provider_type: inline::code-scanner}]}\n"
		ambiguous   = "MissingField spec.resources.shields[0]\n"
	)
	uses := func(id string) string { return "safety/" + id + " " + shields + "[0]\n" }
	run(t, "registered_resources", map[string]testCase{
		"the only provider of the base": {base: scanner, spec: "resources: {shields: [x]}", want: "{shields: [{shield_id: x, provider_id: s}]}", uses: uses("s")},
		"the only one that is always there": {
			base: conditional, spec: "resources: {shields: [x]}", want: "{shields: [{shield_id: x, provider_id: s}]}", uses: uses("s"),
		},
		"the one called like the shield": {base: two, spec: "resources: {shields: [other]}", want: "{shields: [{shield_id: other, provider_id: other}]}", uses: uses("other")},
		"that of the base's shield": {
			base: two + "registered_resources: {shields: [{shield_id: s, provider_id: other}, {shield_id: s, provider_id: s}]}\n", spec: "resources: {shields: [s]}",
			want: "{shields: [{shield_id: s, provider_id: other}, {shield_id: s, provider_id: s}]}", uses: uses("other"),
		},
		"the first of the spec": {
			base: two, spec: "{providers: {inference: {provider: vllm}, safety: [{provider: x, id: other}, {provider: x, id: s}]}, resources: {shields: [s]}}",
			want: "{shields: [{shield_id: s, provider_id: other}]}", uses: uses("other"),
		},
		"the one that it names": {
			base: two, spec: "resources: {shields: [{id: x, provider: other}]}", want: "{shields: [{shield_id: x, provider_id: other}]}", uses: uses("other"),
		},
		"none and several": {base: two, spec: "resources: {shields: [x]}", want: "{shields: []}", problems: ambiguous},
		"none at all":      {base: "providers: {}\n", spec: "resources: {shields: [x]}", want: "{shields: []}", problems: ambiguous},
		"an unknown provider": {
			base: two, spec: "resources: {shields: [{id: x, provider: gone}]}", want: "{shields: []}",
			problems: "UnknownProvider spec.resources.shields[0].provider\n",
		},
		"a conditional provider": {
			base: conditional, spec: "resources: {shields: [{id: x, provider: c}]}", want: "{shields: []}",
			problems: "ProviderNotEnabled spec.resources.shields[0].provider\n",
		},
		"one shield, twice": {
			base: scanner, spec: "resources: {shields: [x, x]}", want: "{shields: [{shield_id: x, provider_id: s}]}", uses: uses("s"),
			problems: "ConflictingFields spec.resources.shields[1]\n",
		},
		"a model for a provider that asks none": {
			base: scanner, spec: "resources: {shields: [{id: x, model: m}]}", want: "{shields: [{shield_id: x, provider_id: s, provider_shield_id: m}]}", uses: uses("s"),
		},
		"an empty model of the base goes": {
			base: scanner + "registered_resources: {shields: [{shield_id: x, provider_shield_id: '${env.M:=}'}]}\n", spec: "resources: {shields: [x]}",
			want: "{shields: [{shield_id: x, provider_id: s}]}", uses: uses("s"),
		},
		"the model of the base stays": {
			base: scanner + "registered_resources: {shields: [{shield_id: x, provider_shield_id: m}]}\n", spec: "resources: {shields: [x]}",
			want: "{shields: [{shield_id: x, provider_id: s, provider_shield_id: m}]}", uses: uses("s"),
		},
		"a release line without shields": {
			line: "1.4", base: scanner, spec: "resources: {shields: [x]}", want: absent,
			problems: "UnsupportedByRelease spec.resources.shields\n",
		},
	})
}

// Proves: FR-042, R24.
func TestApplyFindsTheModelOfAShield(t *testing.T) {
	const providers = `
providers:
  safety: [{provider_id: g, provider_type: inline::llama-guard}]
  inference: [{provider_id: v, provider_type: remote::vllm}, {provider_id: '${env.C:+c}', provider_type: remote::vllm}, {provider_id: '', provider_type: remote::vllm}]
`
	const (
		guard   = "{model_id: Llama-Guard 3_8b, provider_id: v}"
		other   = "{model_id: m, provider_id: v}"
		unknown = "BrokenReference spec.resources.shields[0]\n"
	)
	for name, c := range map[string]struct{ models, base, shield, want, problems string }{
		"by the name under which it is served": {models: other, shield: "{id: x, model: v/m}", want: "v/m"},
		"by its own name":                      {models: other, shield: "{id: x, model: m}", want: "v/m"},
		"by the shield's id":                   {models: other, shield: "m", want: "v/m"},
		"by its own name, which two have":      {models: other + ", {model_id: m, provider_id: c}", shield: "m", problems: unknown},
		"the only guard":                       {models: other + ", " + guard, shield: "x", want: "v/Llama-Guard 3_8b"},
		"one of two guards":                    {models: guard + ", {model_id: llamaguard, provider_id: v}", shield: "x", problems: unknown},
		"none":                                 {models: "", shield: "x", problems: unknown},
		"one that the provider lists":          {models: "", shield: "{id: x, model: v/unregistered}", want: "v/unregistered"},
		"one that the environment names":       {models: "", shield: "{id: x, model: '${env.M}'}", want: "${env.M}"},
		"the base's own":                       {base: "shields: [{shield_id: x, provider_shield_id: v/base}]", shield: "x", want: "v/base"},
		"the spec's over the base's own": {
			base: "shields: [{shield_id: x, provider_shield_id: v/base}]", models: other, shield: "{id: x, model: m}", want: "v/m",
		},
		"the base's empty one": {base: "shields: [{shield_id: x, provider_shield_id: '${env.M:=}'}]", models: guard, shield: "x", want: "v/Llama-Guard 3_8b"},
		"unknown": {
			models: other, shield: "{id: x, model: gone/m}", problems: "BrokenReference spec.resources.shields[0].model\n",
		},
		"a provider that may be off": {
			models: "{model_id: m, provider_id: '${env.C:+c}'}", shield: "{id: x, model: m}", want: "c/m",
			problems: "Warning ProviderNotEnabled spec.resources.shields[0].model\n",
		},
		"a provider that may be off, by the shield's id": {
			models: "{model_id: m, provider_id: '${env.C:+c}'}", shield: "m", want: "c/m",
			problems: "Warning ProviderNotEnabled spec.resources.shields[0]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := providers + "registered_resources: {models: [" + c.models + "]}\n"
			if c.base != "" {
				base = providers + "registered_resources: {models: [" + c.models + "], " + c.base + "}\n"
			}
			found := &problem.Collector{}
			configuration, uses := (&testCase{base: base, spec: "resources: {shields: [" + c.shield + "]}"}).apply(t.Context(), t, found)
			if want := "provider_shield_id: " + c.want + "\n"; c.want != "" && !strings.Contains(strings.NewReplacer("'", "", `"`, "").Replace(configuration), want) {
				t.Errorf("no %s in\n%s", want, configuration)
			}
			if (uses == "") != (c.want == "") || c.want == "" && strings.Contains(configuration, "shield_id: x") {
				t.Errorf("uses %q of\n%s", uses, configuration)
			}
			step.Problems(t, "", found, c.problems)
		})
	}
}

func TestApplyListsModelsForShields(t *testing.T) {
	const providers = "providers: {safety: [{provider_id: g, provider_type: inline::llama-guard}], inference: [{provider_id: v, provider_type: remote::vllm}]}\n"
	for _, models := range []string{
		"", "{model_id: b, provider_id: v}, {model_id: a, provider_id: v}, {model_id: x, provider_model_id: a, provider_id: v}",
	} {
		found := &problem.Collector{}
		(&testCase{base: providers + "registered_resources: {models: [" + models + "]}\n", spec: "resources: {shields: [s]}"}).apply(t.Context(), t, found)
		step.Problems(t, "models: "+models, found, "BrokenReference spec.resources.shields[0]\n")
	}
}

// Proves: R39.
func TestApplyKeepsExistingDefaultShield(t *testing.T) {
	const scanner = "providers: {safety: [{provider_id: s, provider_type: inline::code-scanner}]}\n"
	for name, c := range map[string]struct{ shields, safety, want string }{
		"no default":             {safety: "{}", want: "{}"},
		"one of the environment": {safety: "{default_shield_id: '${env.D}'}", want: "{default_shield_id: '${env.D}'}"},
		"there":                  {shields: "{shield_id: d, provider_id: s}", safety: "{default_shield_id: d}", want: "{default_shield_id: d}"},
		"gone":                   {shields: "{shield_id: e, provider_id: s}", safety: "{default_shield_id: d}", want: "{default_shield_id: x}"},
		"maybe there":            {shields: "{shield_id: d, provider_id: '${env.C:+s}'}", safety: "{default_shield_id: d}", want: "{default_shield_id: x}"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, "safety", map[string]testCase{"": {
				base: scanner + "registered_resources: {shields: [" + c.shields + "]}\nsafety: " + c.safety + "\n",
				spec: "resources: {shields: [x, z]}", want: c.want, uses: "safety/s " + shields + "[0]\nsafety/s " + shields + "[1]\n",
			}})
		})
	}
}

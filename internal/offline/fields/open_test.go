// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

func TestOpenFieldsAreThoseThatAreParsed(t *testing.T) {
	parsed := map[string]reflect.Type{
		"models": reflect.TypeFor[parse.Model](), "tools": reflect.TypeFor[parse.Tool](), "shields": reflect.TypeFor[parse.Shield](),
		"expose": reflect.TypeFor[parse.Expose](),
	}
	for _, open := range openFields {
		last := open.path[len(open.path)-1]
		fields := len(parse.ProviderFields())
		if of, known := parsed[last]; known {
			fields = 0
			for field := range of.Fields() {
				if field.Name != "Path" {
					fields++
				}
			}
		}
		if len(open.fields) != fields {
			t.Errorf("%v: %d sentences for %d fields", open.path, len(open.fields), fields)
		}
		for _, f := range open.fields {
			if isUnknown(t, open.path, f.name) {
				t.Errorf("%v: package parse knows no field %s", open.path, f.name)
			}
		}
		if !isUnknown(t, open.path, "unknownField") {
			t.Errorf("%v: an unknown field is not found", open.path)
		}
	}
}

// The nested fields are those that package parse lists when it rejects an unknown field.
func TestInnerFieldsAreThoseThatAreParsed(t *testing.T) {
	inference, left := []string{"spec", "providers", "inference"}, maps.Clone(nestedFields)
	for name, within := range map[string][]string{
		"apiKey": {"apiKey"}, "secretRefs": {"secretRefs", "token"}, "secretKeyRef": {"apiKey", "secretKeyRef"}, "endpointFrom": {"endpointFrom"},
	} {
		for _, f := range nestedFields[name] {
			if refusal(t, inference, f.name, within...) != "" {
				t.Errorf("%s: package parse knows no field %s", name, f.name)
			}
		}
		_, known, _ := strings.Cut(refusal(t, inference, "unknownField", within...), "known fields: ")
		for parsed := range strings.SplitSeq(known, ", ") {
			if !slices.ContainsFunc(nestedFields[name], func(f fieldDoc) bool { return f.name == parsed }) {
				t.Errorf("%s: package parse reads %q, about which there is no sentence", name, parsed)
			}
		}
		delete(left, name)
	}
	if len(left) > 0 {
		t.Errorf("not held against package parse: %v", left)
	}
}

// Each API lists only the fields that one of its provider types has; those of telemetry are not those of a provider.
func TestProviderFieldsAreThoseOfTheAPI(t *testing.T) {
	found := map[string][]string{}
	for _, api := range parse.APIs() {
		for _, f := range providerFieldsOf(api) {
			if f.name == "region" || f.name == "deploymentName" {
				found[f.name] = append(found[f.name], api.Field)
			}
			if api != parse.APITelemetry && isUnknown(t, []string{"spec", "providers", api.Field}, f.name) {
				t.Errorf("%s: package parse knows no field %s", api.Field, f.name)
			}
		}
	}
	if got := found["deploymentName"]; !slices.Equal(got, []string{"inference"}) {
		t.Errorf("deploymentName is a field of %v", got)
	}
	if got := found["region"]; !slices.Contains(got, "inference") || slices.Contains(got, "telemetry") {
		t.Errorf("region is a field of %v", got)
	}
	for _, f := range telemetryFields {
		if f.name == "settings" && !strings.Contains(f.meaning, "OTEL_") {
			t.Errorf("settings of telemetry: %s", f.meaning)
		}
	}
}

func isUnknown(t *testing.T, path []string, name string) bool {
	t.Helper()
	return refusal(t, path, name) != ""
}

// refusal returns package parse's error for a field name at the path or in nested objects there, or "".
func refusal(t *testing.T, path []string, name string, within ...string) string {
	t.Helper()
	var value any = map[string]any{name: map[string]any{}}
	for _, outer := range slices.Backward(within) {
		value = map[string]any{outer: value}
	}
	if path[1] == "resources" {
		value = []any{value}
	}
	for i := len(path) - 1; i >= 1; i-- {
		value = map[string]any{path[i]: value}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := json.Unmarshal(raw, spec); err != nil {
		t.Fatal(err)
	}
	result := parse.Parse(spec)
	for _, p := range append(result.Problems, result.ExposeProblems...) {
		if p.Reason == problem.UnknownField && strings.HasSuffix(p.Path, "."+name) {
			return p.String()
		}
	}
	return ""
}

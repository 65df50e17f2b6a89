// SPDX-License-Identifier: Apache-2.0

package admissionpolicy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/admissionpolicy"
)

// Proves: R63 (match conditions select specs with too many levels or with an object of more than 100 fields in open
// JSON. They compile on the oldest supported Kubernetes, within its cost limit).
func TestDepthWebhookMatchesDeepAndWideSpecs(t *testing.T) {
	text, err := os.ReadFile("../../../config/webhook/validation.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(text, &configuration); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(configuration.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Fail
	})
	conditions := configuration.Webhooks[i].MatchConditions
	policy := admissionregistrationv1.ValidatingAdmissionPolicy{}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{
		Expression: "!(" + conditions[len(conditions)-1].Expression + ")", MessageExpression: "'matches'",
	}}
	definition, err := yaml.Marshal(&policy)
	if err != nil {
		t.Fatal(err)
	}
	condition, err := admissionpolicy.New(definition)
	if err != nil {
		t.Fatal(err)
	}
	nest := func(levels int) string { return strings.Repeat(`{"a":`, levels) + "0" + strings.Repeat("}", levels) }
	wide := func(fields int) string {
		b := &strings.Builder{}
		for i := range fields {
			fmt.Fprintf(b, `,"k%d":0`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	list := func(count int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", count), ",") + "]"
	}
	provider := `"providers":{"inference":{"provider":"vllm","settings":#}}`
	for name, c := range map[string]struct {
		spec, value string
		matches     bool
	}{
		"nothing":                    {`"distribution":{"name":"starter"}`, "", false},
		"a provider":                 {provider, nest(3), false},
		"as deep as is usual":        {provider, nest(10), false},
		"deep":                       {provider, nest(11), true},
		"very deep":                  {provider, nest(9_000), true},
		"100 fields":                 {provider, wide(100), false},
		"101 fields":                 {provider, wide(101), true},
		"101 fields deep":            {provider, `{"a":{"b":` + wide(101) + `}}`, true},
		"deep in a list":             {`"providers":{"inference":[{"id":"a"},{"id":"b","settings":#}]}`, nest(12), true},
		"deep in lists":              {provider, `{"a":[[[[[[[[[[[[[[0]]]]]]]]]]]]]]}`, true},
		"deep metadata of a model":   {`"resources":{"models":["a",{"name":"b","metadata":#}]}`, nest(12), true},
		"deep in external providers": {`"externalProviders":#`, nest(20), true},
		"deep in settings of auth":   {`"auth":{"settings":#}`, nest(20), true},
		"deep in a rule of auth":     {`"auth":{"accessPolicy":[{},#]}`, nest(20), true},
		"deep in expose":             {`"networking":{"expose":#}`, nest(20), true},
		"1000 models":                {`"resources":{"models":#}`, list(1000, `{"name":"a","provider":"b"}`), false},
		"20000 values":               {provider, `{"a":` + list(20_000, "0") + `}`, false},
		"null":                       {`"providers":#,"resources":null`, "null", false},
	} {
		var object map[string]any
		text := fmt.Sprintf(`{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"a"},"spec":{%s}}`,
			strings.Replace(c.spec, "#", c.value, 1))
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		got, err := condition.Validate(t.Context(), object, nil)
		if err != nil || (len(got) > 0) != c.matches {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

func fromYAML(t *testing.T, text string) *apiextensionsv1.JSON {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

func itemsFromYAML(t *testing.T, texts ...string) []apiextensionsv1.JSON {
	t.Helper()
	var items []apiextensionsv1.JSON
	for _, text := range texts {
		items = append(items, *fromYAML(t, text))
	}
	return items
}

// expectProblems compares problems by their text, and checks that they are complete.
func expectProblems(t *testing.T, got problem.List, want ...string) {
	t.Helper()
	where, texts := []string{}, ""
	for _, p := range got {
		where = append(where, p.Path+": "+p.Type.String())
		texts += p.String() + "\n"
		if p.Path == "" || p.Type == "" || p.Detail+p.Fix == "" || p.Class != problem.Terminal || p.Severity != problem.Error {
			t.Errorf("incomplete problem: %#v", p)
		}
		if strings.Contains(p.String(), canary) {
			t.Errorf("a value got into the message: %s", p)
		}
	}
	if diff := cmp.Diff(append([]string{}, want...), where); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if len(got) > 0 {
		expect.Message(t, got[0].Path, texts)
	}
}

// canary is a secret in the wrong field.
const canary = "sk-canary-7f3a"

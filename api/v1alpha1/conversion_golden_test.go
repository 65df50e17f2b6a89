// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// In each example of the migration guide, before.yaml is v1alpha1, after.yaml is the guide's v1alpha2, and
// converted.yaml is the result of conversion.
//
// Proves: MIG-EX, FR-082, FR-083, US-7.1
func TestExamplesOfTheMigrationGuide(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for _, test := range []struct {
		name string
		// declares reports whether the guide replaces environment variables by spec fields, which conversion does not.
		declares bool
	}{
		{"ollama", true}, {"vllm-with-api-key", true}, {"override-config", false}, {"network-policy-and-tls", false}, {"full-featured", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			before, after := readExample(t, test.name, "before"), readExample(t, test.name, "after")
			converted := ToV1alpha2(before)
			compareGolden(t, filepath.Join("testdata", "conversion", test.name, "converted.yaml"), converted)

			s.defaultSpoke(before)
			converted = ToV1alpha2(before)
			s.defaultHub(converted)
			if diff := cmp.Diff(before, FromV1alpha2(converted)); diff != "" {
				t.Errorf("after the way there and back (- before, + after):\n%s", diff)
			}

			s.defaultHub(after)
			shown := FromV1alpha2(after)
			s.defaultSpoke(shown)
			if diff := cmp.Diff(after, ToV1alpha2(shown)); diff != "" {
				t.Errorf("the guide's v1alpha2 after the way there and back (- before, + after):\n%s", diff)
			}

			if test.declares {
				spec := converted["spec"].(map[string]any)
				remove(spec, []string{"workload", "overrides", "env"})
				if overrides, _ := lookup(spec, []string{"workload", "overrides"}); equal(overrides, map[string]any{}) {
					remove(spec, []string{"workload", "overrides"})
				}
				remove(after, []string{"spec", "providers"})
				remove(after, []string{"spec", "resources"})
			}
			if diff := cmp.Diff(after["spec"], converted["spec"]); diff != "" {
				t.Errorf("conversion does not make what the guide makes (- guide, + conversion):\n%s", diff)
			}
		})
	}
}

func readExample(t *testing.T, name, part string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "conversion", name, part+".yaml"))
	if err != nil {
		t.Fatalf("read the example: %v", err)
	}
	return object(t, string(content))
}

func compareGolden(t *testing.T, file string, tree map[string]any) {
	t.Helper()
	got, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	expect.File(t, file, string(got))
}

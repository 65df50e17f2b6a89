// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// documented is an example of the design documents with its corrections.
type documented struct {
	// Source is the document and the place in it.
	Source string `json:"source"`
	// Example is the original example.
	Example string `json:"example"`
	// Corrections are applied in this order.
	Corrections []correction `json:"corrections"`
	// Shows are lines that the rendered, corrected example contains.
	Shows []string `json:"shows"`
}

type correction struct {
	// Path is the field. Value is its new value; without Value the field is removed.
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
	// Error is the message without the correction. Why is the reason for the correction.
	Error string `json:"error"`
	Why   string `json:"why"`
}

// Each corrected example is admitted and renders. Without any one correction, the error names the field.
//
// Proves: FR-001, FR-010, FR-012, R1, R3, R5, R37, R46.
func TestExamplesOfTheDocumentsRenderAsCorrected(t *testing.T) {
	files := glob(t, "testdata/documents/*.yaml")
	if want := []string{"comparison-after", "comparison-before", "complete", "multiple-providers", "quickstart", "state-storage"}; !slices.EqualFunc(files, want,
		func(file, name string) bool { return stem(file) == name }) {
		t.Errorf("%v, want %v", files, want)
	}
	for _, file := range files {
		t.Run(stem(file), func(t *testing.T) {
			var d documented
			framework.NoError(t, yaml.UnmarshalStrict([]byte(read(t, file)), &d))
			// One run validates the corrected example and the variants that lack one correction each.
			right := d.corrected(t, -1)
			variants := []string{right}
			for i := range d.Corrections {
				variants = append(variants, d.corrected(t, i))
			}
			reported := run(t, strings.Join(variants, "\n---\n"), "validate", "-f", "-")
			errorsOf := func(i int) (found []string) {
				for line := range strings.Lines(reported.out) {
					if _, message, ok := strings.Cut(line, " error: "+variantName(i)+": "); ok {
						found = append(found, message)
					}
				}
				return found
			}
			if errs := errorsOf(-1); len(errs) > 0 || !strings.Contains("\n"+reported.err, "\n"+strconv.Itoa(len(variants))+" checked") {
				t.Errorf("%s\n%s", reported.err, errs)
			}
			for i, c := range d.Corrections {
				if errs := errorsOf(i); !slices.ContainsFunc(errs, func(e string) bool { return strings.HasPrefix(e, c.Error) }) {
					t.Errorf("without the correction of %s: %q, want %s", c.Path, errs, c.Error)
				}
				if id, _, found := strings.Cut(c.Why, ": "); !found || strings.Trim(id, "FR-0123456789") != "" {
					t.Errorf("%s: the reason %q does not begin with a ruling or requirement", c.Path, c.Why)
				}
			}
			r := run(t, right, "render", "-f", "-", "-o", "yaml")
			if r.code != cli.ExitOK {
				t.Fatalf("render: exit code %d:\n%s", r.code, r.err)
			}
			for _, line := range d.Shows {
				if !strings.Contains(r.out, line) {
					t.Errorf("%q is not in:\n%s", line, r.out)
				}
			}
			if len(d.Shows) == 0 {
				t.Error("nothing says what it renders to")
			}
		})
	}
}

func variantName(without int) string { return fmt.Sprintf("without-%d", without+1) }

// corrected returns the example with all corrections except the one at index without.
func (d *documented) corrected(t *testing.T, without int) string {
	t.Helper()
	var tree any
	framework.NoError(t, yaml.Unmarshal([]byte(d.Example), &tree))
	for i, c := range d.Corrections {
		if i != without {
			c.apply(t, tree, strings.FieldsFunc(c.Path, func(r rune) bool { return strings.ContainsRune(".[]", r) }))
		}
	}
	tree.(map[string]any)["metadata"].(map[string]any)["name"] = variantName(without)
	text, err := yaml.Marshal(tree)
	framework.NoError(t, err)
	return string(text)
}

func (c *correction) apply(t *testing.T, tree any, path []string) {
	t.Helper()
	switch node := tree.(type) {
	case map[string]any:
		if len(path) > 1 {
			c.apply(t, node[path[0]], path[1:])
			return
		}
		if c.Value == nil {
			delete(node, path[0])
			return
		}
		node[path[0]] = c.Value
	case []any:
		at, err := strconv.Atoi(path[0])
		if err != nil || at >= len(node) {
			t.Fatalf("%s: no item %s", c.Path, path[0])
		}
		if len(path) > 1 {
			c.apply(t, node[at], path[1:])
			return
		}
		node[at] = c.Value
	default:
		t.Fatalf("%s does not exist", filepath.Join(path...))
	}
}

// SPDX-License-Identifier: Apache-2.0

package step

import (
	"encoding/json"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Document returns a configuration with the sections and the required version.
func Document(t testing.TB, sections string) *document.Document {
	t.Helper()
	base, err := document.ParseBase("small", []byte("version: 2\n"+sections))
	if err != nil {
		t.Fatal(err)
	}
	return base.Edit()
}

// Text returns the sections of a configuration as YAML.
func Text(t testing.TB, doc *document.Document) string {
	t.Helper()
	text, err := doc.Write(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(text), "version: 2\n")
}

// Compact returns YAML as JSON with sorted keys.
func Compact(t testing.TB, text string) string {
	t.Helper()
	compact, err := sigsyaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return string(compact)
}

// Line returns a copy of a release line of the catalog.
func Line(t testing.TB, name string) *catalog.Line {
	t.Helper()
	line, ok := catalog.Get(name)
	if !ok {
		t.Fatalf("the catalog has no release line %s", name)
	}
	changeable := *line
	return &changeable
}

// Newest returns a copy of the newest release line of the catalog.
func Newest(t testing.TB) *catalog.Line {
	t.Helper()
	return Line(t, catalog.Newest())
}

// Spec reads the spec of a custom resource.
func Spec(t testing.TB, text string) *v1alpha2.LlamaStackDistributionSpec {
	t.Helper()
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := sigsyaml.UnmarshalStrict([]byte(text), spec); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return spec
}

// Parsed reads the spec of a custom resource with its open fields, and fails on a problem.
func Parsed(t testing.TB, text string) *parse.Spec {
	t.Helper()
	parsed := parse.Parse(Spec(t, text))
	if len(parsed.Problems) > 0 {
		t.Fatalf("%s in\n%s", parsed.Problems.Message(), text)
	}
	return parsed
}

// Section returns a section of YAML in the form of Compact, or "" if it is absent.
func Section(t testing.TB, text, name string) string {
	t.Helper()
	var sections map[string]any
	if err := sigsyaml.Unmarshal([]byte(text), &sections); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	section, there := sections[name]
	if !there {
		return ""
	}
	compact, err := json.Marshal(section)
	if err != nil {
		t.Fatal(err)
	}
	return string(compact)
}

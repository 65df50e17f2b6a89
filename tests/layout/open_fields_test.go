// SPDX-License-Identifier: Apache-2.0

package layout_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
)

// Each field of a v1alpha2 spec that takes any JSON is among the hostile inputs. Those run with a cluster, which this test does without: it
// reads their source.
//
// Proves: R63.
func TestEveryOpenFieldGetsHostileInput(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.LlamaStackDistributions(), &definition); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1alpha2" })
	spec := definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["spec"]
	open, sent := openPaths(&spec, ""), hostilePaths(t)
	if len(open) < 10 {
		t.Errorf("only %d open fields were found: %q", len(open), open)
	}
	for _, path := range open {
		if !slices.ContainsFunc(sent, func(s string) bool { return s == path || strings.HasPrefix(s, path+".") }) {
			t.Errorf("spec%s takes any JSON: give it a row in openFields of tests/hostile", path)
		}
	}
}

// openPaths returns the paths whose schema keeps unknown fields; [] stands for the items of a list, and {} for the members of a map.
func openPaths(schema *apiextensionsv1.JSONSchemaProps, path string) (open []string) {
	if schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields {
		open = append(open, path)
	}
	for name, property := range schema.Properties {
		open = append(open, openPaths(&property, path+"."+name)...)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		open = append(open, openPaths(schema.Items.Schema, path+"[]")...)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		open = append(open, openPaths(schema.AdditionalProperties.Schema, path+"{}")...)
	}
	slices.Sort(open)
	return open
}

// hostilePaths returns where the rows of openFields put what they are measured with.
func hostilePaths(t *testing.T) (paths []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "hostile", "resources_test.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		declared, ok := n.(*ast.ValueSpec)
		if !ok || declared.Names[0].Name != "openFields" {
			return true
		}
		for _, row := range declared.Values[0].(*ast.CompositeLit).Elts {
			text, err := strconv.Unquote(row.(*ast.CompositeLit).Elts[1].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			var spec any
			if err := json.Unmarshal([]byte("{"+strings.Replace(text, "#", `"#"`, 1)+"}"), &spec); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			paths = append(paths, markedPath(spec, ""))
		}
		return false
	})
	return paths
}

// markedPath returns the path of the mark in a value, in the form of openPaths, and nothing without one.
func markedPath(value any, path string) string {
	switch value := value.(type) {
	case string:
		if value == "#" {
			return path
		}
	case map[string]any:
		for name, member := range value {
			if found := markedPath(member, path+"."+name); found != "" {
				return found
			}
		}
	case []any:
		for _, item := range value {
			if found := markedPath(item, path+"[]"); found != "" {
				return found
			}
		}
	}
	return ""
}

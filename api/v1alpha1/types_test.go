// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Proves: R30, R50, R52 (item patterns). Also that no parent of a field has a default: an entry for it would be one too many.
func TestFieldsAreThoseOfTheReference(t *testing.T) {
	t.Parallel()

	got := describe(t, reflect.TypeFor[LlamaStackDistributionSpec](), "spec", readMarkers(t))
	got = append(got, describe(t, reflect.TypeFor[LlamaStackDistributionStatus](), "status", readMarkers(t))...)
	slices.Sort(got)

	if diff := cmp.Diff(readFieldList(t), got); diff != "" {
		t.Errorf("the types differ from testdata/fields.txt (- the reference, + the types):\n%s", diff)
	}
}

// Proves: R53
func TestOptionalSpecFieldsTellAbsentFromEmpty(t *testing.T) {
	t.Parallel()

	markers := readMarkers(t)
	visitFields(reflect.TypeFor[LlamaStackDistributionSpec](), func(owner reflect.Type, field reflect.StructField) {
		if slices.Contains(markers[owner.Name()+"."+field.Name], "required") {
			return
		}
		if kind := field.Type.Kind(); kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map {
			t.Errorf("%s.%s is optional, but its type %s has no value for absent: use a pointer", owner.Name(), field.Name, field.Type)
		}
	})
}

// Proves: R53
func TestZeroEmptyAndAbsentSurviveDecoding(t *testing.T) {
	t.Parallel()

	for name, spec := range map[string]string{
		"absent": `{"server":{"distribution":{}}}`,
		"zero":   `{"replicas":0,"server":{"distribution":{},"autoscaling":{"maxReplicas":0}},"network":{"exposeRoute":false}}`,
		"empty":  `{"server":{"distribution":{"name":""},"containerSpec":{},"podDisruptionBudget":{},"storage":{"mountPath":""}},"network":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var decoded LlamaStackDistributionSpec
			if err := json.Unmarshal([]byte(spec), &decoded); err != nil {
				t.Fatalf("decode %s: %v", spec, err)
			}
			encoded, err := json.Marshal(decoded)
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			if diff := cmp.Diff(spec, string(encoded)); diff != "" {
				t.Errorf("the spec changed on the way (- before, + after):\n%s", diff)
			}
		})
	}
}

// Proves: R1
func TestSchemeKnowsTheKind(t *testing.T) {
	t.Parallel()

	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatalf("AddToScheme: %v", err)
	}
	for _, kind := range []string{"LlamaStackDistribution", "LlamaStackDistributionList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", GroupVersion.WithKind(kind))
		}
	}
}

// describe lists the fields below a struct as testdata/fields.txt does. Structs of this package are descended into; they
// get a line of their own only if they carry a marker that belongs to leaves.
func describe(t *testing.T, structType reflect.Type, path string, markers map[string][]string) []string {
	t.Helper()

	var lines []string
	for field := range structType.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fieldPath := path + "." + name
		elem, suffix := field.Type, ""
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Slice {
			elem, suffix = elem.Elem(), "[]"
		}
		marks := slices.Concat(markers[elem.Name()], markers[structType.Name()+"."+field.Name])
		if elem.Kind() == reflect.Struct && elem.PkgPath() == structType.PkgPath() {
			lines = append(lines, describe(t, elem, fieldPath+suffix, markers)...)
			if !slices.ContainsFunc(marks, func(mark string) bool { return strings.HasPrefix(mark, "default") }) {
				continue
			}
		}
		line := append([]string{fieldPath, typeName(t, elem) + suffix}, marks...)
		lines = append(lines, strings.Join(line, " "))
	}
	return lines
}

// typeName is the name that the API reference gives to a type.
func typeName(t *testing.T, typ reflect.Type) string {
	t.Helper()

	switch typ.Kind() { //nolint:exhaustive // the default reports every other kind
	case reflect.Struct:
		return typ.Name()
	case reflect.Map:
		return "map"
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	default:
		t.Fatalf("the reference has no name for %s", typ)
		return ""
	}
}

// visitFields calls visit for every field of a struct and of the structs of this package below it.
func visitFields(structType reflect.Type, visit func(owner reflect.Type, field reflect.StructField)) {
	for field := range structType.Fields() {
		visit(structType, field)
		elem := field.Type
		for elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Slice {
			elem = elem.Elem()
		}
		if elem.Kind() == reflect.Struct && elem.PkgPath() == structType.PkgPath() {
			visitFields(elem, visit)
		}
	}
}

// readMarkers reads defaults, validation and "required" from the comments of the types, by "Type" and "Type.Field".
func readMarkers(t *testing.T) map[string][]string {
	t.Helper()

	files, err := filepath.Glob("*_types.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the types: %v, %d files", err, len(files))
	}
	markers := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatalf("parse the types: %v", err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			decl, ok := node.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			spec := decl.Specs[0].(*ast.TypeSpec)
			if structType, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range structType.Fields.List {
					if len(field.Names) == 1 {
						markers[spec.Name.Name+"."+field.Names[0].Name] = markersOf(field.Doc)
					}
				}
			} else {
				markers[spec.Name.Name] = markersOf(decl.Doc)
			}
			return true
		})
	}
	return markers
}

func markersOf(doc *ast.CommentGroup) []string {
	var markers []string
	required := false
	if doc == nil {
		return nil
	}
	for _, comment := range doc.List {
		line := strings.TrimPrefix(comment.Text, "// ")
		if mark, ok := strings.CutPrefix(line, "+kubebuilder:validation:"); ok {
			markers = append(markers, mark)
		} else if mark, ok := strings.CutPrefix(line, "+kubebuilder:default"); ok {
			markers = append(markers, "default"+mark)
		} else if line == "+required" {
			required = true
		}
	}
	if required {
		markers = append(markers, "required")
	}
	return markers
}

// readFieldList reads testdata/fields.txt, sorted, without comments and empty rows.
func readFieldList(t *testing.T) []string {
	t.Helper()

	content, err := os.ReadFile(filepath.Join("testdata", "fields.txt"))
	if err != nil {
		t.Fatalf("read the field list: %v", err)
	}
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
)

// coreTypes are fields with a type of Kubernetes, whose subfields are not listed.
var coreTypes = []string{"resources", "env", "volumes", "volumeMounts", "topologySpreadConstraints", "conditions", "envFrom", "imagePullSecrets",
	"resourceClaims", "tolerations", "affinity"}

// Proves: FR-001, FR-003, FR-012, FR-014, API-DEF, API-VAL, R30, R50, R52 (the CRD has the fields, defaults and limits
// of testdata/fields.txt, which is written from the API reference).
func TestCRDHasTheFieldsOfTheReference(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.LlamaStackDistributions(), &definition); err != nil {
		t.Fatal(err)
	}
	for _, v := range definition.Spec.Versions {
		if !v.Served || v.Storage != (v.Name == GroupVersion.Version) || v.Subresources.Status == nil || v.Subresources.Scale == nil {
			t.Errorf("version %s: served %v, storage %v, subresources %+v", v.Name, v.Served, v.Storage, v.Subresources)
		}
		var got []string
		for _, section := range []string{"spec", "status"} {
			schema := v.Schema.OpenAPIV3Schema.Properties[section]
			got = append(got, fields(section, &schema)...)
		}
		list := filepath.Join("..", v.Name, "testdata", "fields.txt")
		if diff := cmp.Diff(listed(t, list), got); diff != "" {
			t.Errorf("the CRD differs from %s (-reference +CRD):\n%s", list, diff)
		}
	}
	names := definition.Spec.Names
	if names.Kind != Kind || !slices.Contains(names.ShortNames, "llsd") || len(names.Categories) == 0 {
		t.Errorf("names %+v", names)
	}
}

// A client-side apply keeps the whole CRD in an annotation, and annotations have at most 262,144 bytes.
func TestCRDFitsIntoAnAnnotation(t *testing.T) {
	text, err := yaml.YAMLToJSON(crd.LlamaStackDistributions())
	if err != nil {
		t.Fatal(err)
	}
	const limit = 245_000
	t.Logf("%d bytes", len(text))
	if len(text) >= limit {
		t.Errorf("the CRD has %d bytes as JSON, and must have less than %d: shorten descriptions", len(text), limit)
	}
}

// fields returns the sorted leaves of a schema, each as "path type default limits".
func fields(path string, s *apiextensionsv1.JSONSchemaProps) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		at, items := path+"."+name, &p
		if p.Default != nil && p.Type == "object" {
			lines = append(lines, at+" has a default, which no parent of a field may have")
		}
		if p.Items != nil && p.Items.Schema != nil {
			at, items = at+"[]", p.Items.Schema
		}
		if !slices.Contains(coreTypes, name) && len(items.Properties) > 0 || at == "spec.resources" {
			lines = append(lines, fields(at, items)...)
			continue
		}
		line := strings.TrimSpace(at + " " + describe(items))
		if p.MaxItems != nil {
			line += fmt.Sprintf(" maxItems=%d", *p.MaxItems)
		}
		if slices.Contains(s.Required, name) {
			line += " required"
		}
		lines = append(lines, line)
	}
	return lines
}

func describe(s *apiextensionsv1.JSONSchemaProps) string {
	var words []string
	switch {
	case s.XPreserveUnknownFields != nil:
		words = append(words, "open")
	case s.XIntOrString:
		words = append(words, "int-or-string")
	default:
		words = append(words, s.Type)
	}
	if s.Default != nil {
		words = append(words, "default="+string(s.Default.Raw))
	}
	for _, e := range s.Enum {
		words = append(words, "enum="+string(e.Raw))
	}
	if s.MinLength != nil {
		words = append(words, fmt.Sprintf("minLength=%d", *s.MinLength))
	}
	if s.MaxLength != nil {
		words = append(words, fmt.Sprintf("maxLength=%d", *s.MaxLength))
	}
	if s.Pattern != "" {
		words = append(words, "pattern="+s.Pattern)
	}
	if s.Minimum != nil {
		words = append(words, fmt.Sprintf("minimum=%g", *s.Minimum))
	}
	if s.Maximum != nil {
		words = append(words, fmt.Sprintf("maximum=%g", *s.Maximum))
	}
	return strings.Join(words, " ")
}

func listed(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

func readGuide(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "migration-v1alpha1-to-v1alpha2.md"))
	if err != nil {
		t.Fatalf("read the guide: %v", err)
	}
	return string(content)
}

// Proves: FR-083, MIG-MAP (the documented table equals fieldMappings).
func TestGuideTableMatchesFieldMappings(t *testing.T) {
	t.Parallel()

	var want, got []string
	for _, mapping := range fieldMappings {
		want = append(want, mapping.spoke+" -> "+mapping.hub)
	}
	row := regexp.MustCompile("(?m)^\\| (?:`(s[^`]*)` )?\\| (?:`(s[^`]*)` )?\\|")
	for _, match := range row.FindAllStringSubmatch(readGuide(t), -1) {
		got = append(got, match[1]+" -> "+match[2])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the guide's table (- conversion, + the guide):\n%s", diff)
	}
}

// Proves: MIG-EX, US-7.2, US-7.3 (the guide's objects are valid).
func TestGuideObjectsConvertIntoEachOther(t *testing.T) {
	t.Parallel()

	var objects []map[string]any
	for _, match := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(readGuide(t), -1) {
		tree := object(t, match[1])
		objects = append(objects, tree)

		raw, err := yaml.YAMLToJSON([]byte(match[1]))
		if err != nil {
			t.Fatalf("not YAML: %v", err)
		}
		var typed any = &LlamaStackDistribution{}
		if strings.HasSuffix(tree["apiVersion"].(string), "v1alpha2") {
			typed = &v1alpha2.LlamaStackDistribution{}
		}
		if strict, err := kjson.UnmarshalStrict(raw, typed); err != nil || len(strict) > 0 {
			t.Errorf("not valid: %v %v\n%s", err, strict, match[1])
		}
	}
	if len(objects) != 4 {
		t.Fatalf("the guide shows %d objects, want 4", len(objects))
	}
	for _, pair := range [][2]int{{0, 1}, {1, 0}, {2, 3}, {3, 2}} {
		from, to := objects[pair[0]], objects[pair[1]]
		converted, err := Convert(from, to["apiVersion"].(string))
		if err != nil {
			t.Fatalf("object %d: %v", pair[0], err)
		}
		if diff := cmp.Diff(to, converted); diff != "" {
			t.Errorf("object %d does not become object %d (- the guide, + conversion):\n%s", pair[0], pair[1], diff)
		}
	}
}

// Proves: MIG-ANN, R53 (conversion writes the annotation that the guide shows).
func TestTheGuideShowsAnAnnotation(t *testing.T) {
	t.Parallel()

	match := regexp.MustCompile("(?s)```json\n(.*?)\n```").FindStringSubmatch(readGuide(t))
	if match == nil {
		t.Fatal("the guide shows no annotation")
	}
	named := object(t, `{apiVersion: llamastack.io/v1alpha1, metadata: {name: x}, spec: {server: {distribution: {name: starter}, containerSpec: {name: main}}}}`)
	if got := annotationsOf(ToV1alpha2(named))[v1alpha2.ConversionAnnotation]; got != match[1] {
		t.Errorf("the guide shows %s, conversion writes %s", match[1], got)
	}
}

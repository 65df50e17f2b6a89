// SPDX-License-Identifier: Apache-2.0

package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

func scalar(tag, value string, style yaml.Style) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value, Style: style}
}

func TestSameComparesAllWrittenFields(t *testing.T) {
	list := func(items ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.SequenceNode, Content: items} }
	a := scalar("!!str", "x", 0)
	for name, other := range map[string]*yaml.Node{
		"value": scalar("!!str", "y", 0), "tag": scalar("!!int", "x", 0), "style": scalar("!!str", "x", yaml.DoubleQuotedStyle),
		"kind": {Kind: yaml.AliasNode, Tag: "!!str", Value: "x"},
	} {
		if same(a, other) || same(list(a), list(other)) || same(list(a, other), list(a, a)) {
			t.Errorf("another %s is the same", name)
		}
	}
	if same(list(a), list()) || same(list(a), list(a, a)) || !same(list(a, a), list(scalar("!!str", "x", 0), a)) || !same(list(), list()) {
		t.Error("the number of items counts, and nothing else")
	}
}

func TestPiecesCutsProvidersIntoEntries(t *testing.T) {
	cut := func(text string) string {
		root, err := Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, p := range pieces(root) {
			fmt.Fprintf(&b, "%s/%s/%s %d\n", p.section, p.api, p.id, len(p.heads))
		}
		return b.String()
	}
	for text, want := range map[string]string{
		"apis: [a]\nversion: 2\n":                  "apis// 0\nversion// 0\n",
		"providers: {}\n":                          "providers// 0\n",
		"providers: null\n":                        "providers// 0\n",
		"other: {inference: [{provider_id: a}]}\n": "other// 0\n",
		"providers: {inference: [{provider_id: a}, {provider_id: b}], safety: []}\n": "providers/inference/a 2\nproviders/inference/b 2\nproviders/safety/ 1\n",
		"providers: {inference: [{provider_id: a}, {x: b}]}\n":                       "providers/inference/ 1\n",
		"providers: {inference: [{provider_id: ''}]}\n":                              "providers/inference/ 1\n",
		"providers: {\"inference\": [{provider_id: a}]}\n":                           "providers/inference/ 1\n",
		"providers: {yes: [{provider_id: a}]}\n":                                     "providers/yes/ 1\n",
	} {
		if diff := cmp.Diff(want, cut(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestTextsOfTheBaseAreReused(t *testing.T) {
	base, err := ParseBase("b", []byte("version: 2\nproviders: {inference: [{provider_id: a}, {provider_id: b}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc := base.Edit()
	Set(Items(doc.ProvidersOf("inference"))[1], "provider_type", String("new"))
	for _, p := range pieces(doc.Root()) {
		kept, err := base.texts[p.key()].text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := base.textOf(&p)
		if err != nil {
			t.Fatal(err)
		}
		if again := &got[0] == &kept[0]; again == (p.id == "b") {
			t.Errorf("%v: the text of the base is used: %v", p.key(), again)
		}
	}
}

func TestWriteStopsAtTheLimit(t *testing.T) {
	base, err := ParseBase("b", []byte("version: 2\nimage_name: x\n"))
	if err != nil {
		t.Fatal(err)
	}
	doc := base.Edit()
	plain, err := doc.Write(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	header := strings.Repeat("#", limits.ConfigBytes-len(plain))
	if all, err := doc.Write(t.Context(), header); err != nil || len(all) != limits.ConfigBytes {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	if _, err := doc.Write(t.Context(), header+"#"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	// The limit also holds for a new piece.
	p := piece{section: "providers", api: "inference", id: "a", value: Value(map[string]any{"provider_id": "a"})}
	p.keys = [2]*yaml.Node{String("providers"), String("inference")}
	p.heads = []string{"providers:\n", "  inference:\n"}
	text, err := p.write(limits.ConfigBytes)
	if err != nil || string(text) != "  - provider_id: a\n" {
		t.Fatalf("%q, %v", text, err)
	}
	if _, err := p.write(len(text)); err != nil {
		t.Error(err)
	}
	if _, err := p.write(len(text) - 1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte less: %v", err)
	}
}

func TestReadBoundsLevels(t *testing.T) {
	for _, nest := range []func(levels int) string{
		func(levels int) string { return strings.Repeat("{a: ", levels) + "x" + strings.Repeat("}", levels) },
		func(levels int) string {
			return "{a: " + strings.Repeat("[", levels-1) + "x" + strings.Repeat("]", levels-1) + "}"
		},
	} {
		if _, err := Read([]byte(nest(limits.DocumentLevels))); err != nil {
			t.Error(err)
		}
		if _, err := Read([]byte(nest(limits.DocumentLevels + 1))); err == nil {
			t.Error("one level more is read")
		}
	}
	// A key has the depth of its map.
	keys := strings.Repeat("{a: ", limits.DocumentLevels-1) + "{a: x, b: y}" + strings.Repeat("}", limits.DocumentLevels-1)
	if _, err := Read([]byte(keys)); err != nil {
		t.Error(err)
	}
	// An alias has the depth of its anchor's value.
	deep := strings.Repeat("[", limits.DocumentLevels-2) + "x" + strings.Repeat("]", limits.DocumentLevels-2)
	if _, err := Read([]byte("a: &a " + deep + "\nb: [*a]\n")); err == nil {
		t.Error("an alias hides levels")
	}
}

func TestReadBoundsExpandedValues(t *testing.T) {
	// The map, two keys, the anchor's value and the list count five. An alias counts one more than its anchor's value.
	text := func(values int) []byte {
		aliases := (values - 5) / 2
		return []byte("a: &a x\nb: [" + strings.Repeat("*a, ", aliases) + strings.Repeat("y, ", values-5-2*aliases) + "]\n")
	}
	if _, err := Read(text(limits.DocumentNodes)); err != nil {
		t.Error(err)
	}
	if _, err := Read(text(limits.DocumentNodes + 1)); err == nil || !strings.Contains(err.Error(), "with aliases expanded") {
		t.Errorf("one value more: %v", err)
	}
}

func TestNameStaysOnOneLine(t *testing.T) {
	base, err := ParseBase("a\nb\u2028c\u2029d\x00e", []byte("version: 2\n"))
	if err != nil || base.Name() != "abcde" {
		t.Errorf("%q, %v", base.Name(), err)
	}
}

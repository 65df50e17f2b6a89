// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// A configuration that is written in pieces, some of them cached, equals one that is written at once.
//
// Proves: NFR-001, R9.
func TestPiecesJoinToOriginal(t *testing.T) {
	texts := map[string]string{
		"odd": "a: {b: [], c: {}}\nproviders: {}\nd: \"quo ted\"\n'e f': |\n  two\n  lines\ng: null\n",
		"api": "providers:\n  inference: []\n  'y': [{provider_id: a, config: {deep: {er: [1, {x: y}]}}}]\n  safety: null\nlast: 1\n",
		"nil": "providers: null\n",
	}
	for _, d := range distributions.All() {
		for _, line := range catalog.Lines() {
			if data, ok := distributions.Base(d.Base, line); ok {
				texts[d.Base+"/"+line] = string(data)
			}
		}
	}
	for name, text := range texts {
		base, err := ParseBase(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var whole bytes.Buffer
		whole.WriteString("# header\n")
		encoder := yaml.NewEncoder(&whole)
		encoder.SetIndent(2)
		encoder.CompactSeqIndent()
		if err := encoder.Encode(base.root); err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"first", "again"} {
			if got, err := base.Edit().Write(t.Context(), "# header\n"); err != nil || string(got) != whole.String() {
				t.Errorf("%s, %s: %v\n%s\nwant\n%s", name, when, err, got, whole.String())
			}
		}
	}
}

// An edit of the copy appears in its text, and changes neither the base nor its cached pieces.
//
// Proves: NFR-001, R9.
func TestEditsAppearInText(t *testing.T) {
	base, err := ParseBase("b", []byte("server: {port: 1}\nproviders:\n  inference: [{provider_id: a}]\n  safety: [{provider_id: s}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	render := func(edit func(root *yaml.Node)) string {
		d := base.Edit()
		edit(d.Root())
		text, err := d.Write(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const before = "server:\n  port: 1\nproviders:\n  inference:\n  - provider_id: a\n  safety:\n  - provider_id: s\n"
	for want, edit := range map[string]func(root *yaml.Node){
		before: func(*yaml.Node) {},
		strings.Replace(before, "port: 1", "port: 2", 1): func(root *yaml.Node) { Child(Child(root, "server"), "port").Value = "2" },
		strings.Replace(before, "id: s", "id: z", 1): func(root *yaml.Node) {
			Items(Child(Child(root, "providers"), "safety"))[0].Content[1].Value = "z"
		},
		strings.Replace(before, "  safety", "  - provider_id: b\n  safety", 1): func(root *yaml.Node) {
			inference := Child(Child(root, "providers"), "inference")
			entry := Clone(inference.Content[0])
			Set(entry, "provider_id", String("b"))
			inference.Content = append(inference.Content, entry)
		},
		strings.Replace(before, "port: 1", "port: 1\n  workers: 3", 1): func(root *yaml.Node) { Set(Child(root, "server"), "workers", Int(3)) },
	} {
		if got := render(edit); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := render(func(*yaml.Node) {}); got != before {
			t.Errorf("the base has changed:\n%s", got)
		}
	}
}

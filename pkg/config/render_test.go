// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/configs"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// A configuration that is written in pieces, some of them kept from before, reads as if it were written at once.
//
// Proves: NFR-001, R9.
func TestPiecesAreTheWhole(t *testing.T) {
	texts := map[string]string{
		"odd": "a: {b: [], c: {}}\nproviders: {}\nd: \"quo ted\"\n'e f': |\n  two\n  lines\ng: null\n",
		"api": "providers:\n  inference: []\n  'y': [{provider_id: a, config: {deep: {er: [1, {x: y}]}}}]\n  safety: null\nlast: 1\n",
		"nil": "providers: null\n",
	}
	for _, d := range configs.Distributions() {
		for _, line := range catalog.Lines() {
			if data, ok := configs.Base(d.Base, line); ok {
				texts[d.Base+"/"+line] = string(data)
			}
		}
	}
	line, _ := catalog.Get("0.7")
	for name, text := range texts {
		base, err := ParseBase(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var whole bytes.Buffer
		fmt.Fprintf(&whole, "# Generated for the %s ns/n: edit that resource, not this file.\n# Server release line: 0.7\n# Base configuration: %s\n", v1alpha2.Kind, name)
		encoder := yaml.NewEncoder(&whole)
		encoder.SetIndent(2)
		encoder.CompactSeqIndent()
		if err := encoder.Encode(base.root); err != nil {
			t.Fatal(err)
		}
		g := &generation{ctx: t.Context(), Input: Input{Name: "n", Namespace: "ns", Base: base, Line: line}, root: clone(base.root)}
		for _, when := range []string{"first", "again"} {
			if got, err := g.render(); err != nil || string(got) != whole.String() {
				t.Errorf("%s, %s: %v\n%s\nwant\n%s", name, when, err, got, whole.String())
			}
		}
	}
}

// An edit of the copy changes neither the base nor what is kept of it, and the copy's text shows it.
//
// Proves: NFR-001, R9.
func TestEditsShow(t *testing.T) {
	base, err := ParseBase("b", []byte("server: {port: 1}\nproviders:\n  inference: [{provider_id: a}]\n  safety: [{provider_id: s}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	line, _ := catalog.Get("0.7")
	render := func(edit func(root *yaml.Node)) string {
		g := &generation{ctx: t.Context(), Input: Input{Base: base, Line: line}, root: clone(base.root)}
		edit(g.root)
		text, err := g.render()
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "# Base configuration: b\n")
		return body
	}
	const before = "server:\n  port: 1\nproviders:\n  inference:\n  - provider_id: a\n  safety:\n  - provider_id: s\n"
	for want, edit := range map[string]func(root *yaml.Node){
		before: func(*yaml.Node) {},
		strings.Replace(before, "port: 1", "port: 2", 1): func(root *yaml.Node) { child(child(root, "server"), "port").Value = "2" },
		strings.Replace(before, "id: s", "id: z", 1): func(root *yaml.Node) {
			items(child(child(root, "providers"), "safety"))[0].Content[1].Value = "z"
		},
		strings.Replace(before, "  safety", "  - provider_id: b\n  safety", 1): func(root *yaml.Node) {
			inference := child(child(root, "providers"), "inference")
			entry := clone(inference.Content[0])
			set(entry, "provider_id", stringNode("b"))
			inference.Content = append(inference.Content, entry)
		},
		strings.Replace(before, "port: 1", "port: 1\n  workers: 3", 1): func(root *yaml.Node) { set(child(root, "server"), "workers", intNode(3)) },
	} {
		if got := render(edit); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if got := render(func(*yaml.Node) {}); got != before {
			t.Errorf("the base has changed:\n%s", got)
		}
	}
}

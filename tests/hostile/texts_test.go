// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// bomb returns YAML whose aliases expand to a billion values.
func bomb() string {
	b := &strings.Builder{}
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return b.String()
}

func mergeBomb() string {
	b := &strings.Builder{}
	b.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i < 2000; i++ {
		fmt.Fprintf(b, "a%d: &a%d {<<: *a%d, k%d: *a%d}\n", i, i, i-1, i, i-1)
	}
	return b.String()
}

// texts are YAML texts that harm careless parsers.
func texts() []struct{ name, text string } {
	const almost = 1_000_000 // an object is at most 1 MiB
	return []struct{ name, text string }{
		{"bomb of aliases", bomb()},
		{"bomb of merge keys", mergeBomb()},
		{"list that holds itself", "version: 2\na: &a [*a]\n"},
		{"1 MB of opening brackets", strings.Repeat("[", almost)},
		{"50000 levels in blocks", strings.Repeat("- ", 50_000) + "a"},
		{"1 MB of commas", "a: [" + strings.Repeat("0,", almost/2-10) + "0]"},
		{"1 MB of empty maps", "a: [" + strings.Repeat("{},", almost/3-10) + "0]"},
		{"100000 keys", "a: " + object(70_000, `"k#":0`)},
		{"one text of 1 MB", "a: " + strings.Repeat("a", almost)},
		{"100000 documents", strings.Repeat("---\n{}\n", 100_000)},
		{"foreign tags", "version: 2\na: !!python/object/apply:os.system [\"true\"]\nb: !!binary aGk=\n"},
		{"control characters", "version: 2\na: \"\x00\x01\x1b\"\n"},
		{"100000 anchors", strings.Repeat("- &a 0\n", 100_000)},
		{"deep keys", "? " + strings.Repeat("? ", 20_000) + "a"},
	}
}

func (w *world) configMap(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	w.createFor(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data})
}

// configMapInputs are inputs with a text as a user's configuration, and others with it in the operator's settings.
func configMapInputs() (all []input) {
	for _, text := range texts() {
		want := []string{"InvalidConfigMap", "is not a configuration"}
		if text.name == "foreign tags" { // the server rejects those
			want = []string{accepted}
		}
		all = append(all, input{name: "override with " + text.name, want: want, send: func(t *testing.T, w *world) (string, error) {
			id := identifier("override " + text.name)
			w.configMap(t, namespace, id, map[string]string{"config.yaml": text.text})
			return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter+`,"overrideConfig":{"configMapName":"`+id+`"}`), want...)
		}})
	}
	for _, text := range texts()[:7] {
		for _, key := range []string{"image-overrides", "distributions", "featureFlags"} {
			want := "InvalidOperatorSettings"
			if key != "featureFlags" { // unreadable entries affect only the resources that use their names
				want = accepted
			}
			all = append(all, input{name: key + " of " + text.name, want: []string{want}, send: func(t *testing.T, w *world) (string, error) {
				w.configMap(t, framework.OperatorNamespace, settingsName, map[string]string{key: text.text})
				id := identifier("settings " + key + text.name)
				return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, starter), want)
			}})
		}
		all = append(all, input{name: "registered base with " + text.name, want: []string{"InvalidOperatorSettings"}, send: func(t *testing.T, w *world) (string, error) {
			entry := "mine:\n  image: quay.io/a/b:0.7.1\n  serverVersion: 0.7.1\n  config: |\n    " + strings.ReplaceAll(strings.TrimSpace(text.text), "\n", "\n    ") + "\n"
			w.configMap(t, framework.OperatorNamespace, settingsName, map[string]string{"distributions": entry})
			id := identifier("base " + text.name)
			return w.send(t, "v1alpha2", namespace, id, resource("v1alpha2", id, `"distribution":{"name":"mine"}`), "InvalidOperatorSettings")
		}})
	}
	return all
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Proves: R4, R6 (all invalid fields are named by path, without values).
func TestDecodeReportsSchemaErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{a: secret, zz: x, b: 1, list: {}, m: [], env: [1, {name: [], configMapRef: {nam: x}}], q: abc}": "a: expected a " +
			"number, got text; b: expected true or false, got a number; env[0]: expected a map, got a number; " +
			"env[1].configMapRef.nam: unknown field: " +
			`did you mean "name"? known fields: name, optional; env[1].name: unknown field: known fields: configMapRef, prefix, secretRef; ` +
			"list: expected a list, got a map; m: expected a map, got a list; q: is not a valid value for this field; zz: " +
			"unknown field: known fields: a, any, b, env, list, m, q",
		"m: {k: [], l: x}": "m[k]: expected text, got a list",
		"text":             "expected a map, got text",
		"a: {}":            "a: expected a number, got a map",
		"list: [true, {}]": "list[1]: expected text, got a map",
		"a: 1.5":           "cannot unmarshal number 1.5",
		"a: [":             "yaml: line 1:",
		"{a: 1, any: {x: []}, q: 1Gi, env: [{prefix: p, secretRef: {name: s}}]}": "",
	} {
		var to struct {
			A    int                    `json:"a"`
			B    *bool                  `json:"b"`
			Any  any                    `json:"any"`
			List []string               `json:"list"`
			M    map[string]string      `json:"m"`
			Env  []corev1.EnvFromSource `json:"env"`
			Q    *resource.Quantity     `json:"q"`
		}
		err := decode([]byte(text), &to)
		if got := message(err); want == "" && err != nil || !strings.Contains(got, want) || strings.Contains(got, "secret,") {
			t.Errorf("%s:\n%s, want\n%s", text, got, want)
		}
	}
	var names []string
	err := decode([]byte("["+strings.Repeat("{},", 2*limits.Problems)+"{}]"), &names)
	if got := strings.Split(message(err), "; "); len(got) != limits.Problems || got[0] != "[0]: expected text, got a map" {
		t.Errorf("%d problems: %v", len(got), err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

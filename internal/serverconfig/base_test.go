// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R68 (a server needs a name of its configuration and does not use it, so the operator adds a missing one).
func TestGenerateNamesABaseWithoutAName(t *testing.T) {
	for _, c := range []struct{ line, name, want string }{
		{"1.5", "", "\ndistro_name: mine\n"},
		{"1.5", "image_name: a\n", "\nimage_name: a\n"},
		{"0.7", "", "\ndistro_name: mine\n"},
		{"0.3", "", "\nimage_name: mine\n"},
		{"0.3", "distro_name: a\n", "\nimage_name: mine\n"},
	} {
		base, err := serverconfig.ParseBase("mine", []byte("version: 2\nproviders: {}\nstorage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}, sql_default: {type: sql_sqlite, db_path: /b}}, stores: {}}\n"+c.name))
		framework.NoError(t, err)
		result, problems := serverconfig.Generate(t.Context(), serverconfig.Input{
			Name: "a", Namespace: "b", Spec: step.Parsed(t, "{}"), Base: base, Line: step.Line(t, c.line),
		})
		if result == nil || !strings.Contains(string(result.YAML), c.want) || strings.Count(string(result.YAML), "\ndistro_name:") > 1 {
			t.Errorf("%s with %q: %s\n%s", c.line, c.name, problems.Message(), result.YAML)
		}
		for _, p := range serverconfig.CheckBase(t.Context(), base, step.Line(t, c.line), "", "f") {
			if strings.Contains(p.Text, "does not start") {
				t.Errorf("%s with %q: %+v", c.line, c.name, p)
			}
		}
	}
}

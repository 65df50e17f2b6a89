// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: LBL-VER, FR-027b, R14 (the label completes a configuration without a version, and a difference is a warning).
func TestLabelWithTheSchemaVersion(t *testing.T) {
	const without = "apis: [inference]\nproviders: {inference: []}\n"
	for name, c := range map[string]struct{ label, config, version, warning string }{
		"no label":                    {"", "version: 2\n" + without, "2", ""},
		"neither":                     {"", without, "", ""},
		"the same":                    {"2", "version: 2\n" + without, "2", ""},
		"another":                     {"1", "version: 2\n" + without, "2", "label io.llamastack.config.version of the image is 1, but its configuration has version: 2, which takes precedence"},
		"a configuration without one": {"1", without, "1", ""},
		"unknown to the operator":     {"7", without, "7", ""},
		"not a number":                {"two", without, "", `label io.llamastack.config.version of the image is "two", which is not a schema version`},
	} {
		t.Run(name, func(t *testing.T) {
			d, f := parse(t, nil).ResolveWithHints(byImage("registry.example/mine:0.7.1"), settings.Hints{Labels: &oci.Labels{
				Config: []byte(c.config), ConfigLabel: oci.LabelConfigBase64, SchemaVersion: c.label,
			}})
			if f != nil {
				t.Fatal(f)
			}
			if got, _ := d.Base.Edit().Version(); got != c.version {
				t.Errorf("version %q, want %q", got, c.version)
			}
			if text := d.Warnings.Message(); (c.warning == "") != (len(d.Warnings) == 0) || !strings.Contains(text, c.warning) || d.Warnings.HasErrors() {
				t.Errorf("warnings %s, want %s", text, c.warning)
			}
			for _, w := range d.Warnings {
				if w.Reason != problem.InvalidImage || w.Path != "spec.distribution" {
					t.Errorf("%+v", w)
				}
			}
		})
	}
}

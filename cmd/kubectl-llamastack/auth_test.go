// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R83.
func TestPageAboutAuthentication(t *testing.T) {
	r := newReader(t)
	r.copy(t, "config/samples/v1alpha2-auth.yaml", "config/samples/v1alpha2-auth.yaml")
	ran := 0
	for _, b := range framework.CodeBlocks(t, filepath.Join(root, "docs", "auth.md")) {
		if b.Info != "sh" {
			continue
		}
		ran++
		if code, out := r.run(t, b.Text); code != 0 || !strings.Contains(out, "administrators do everything") || !strings.Contains(out, "everyone uses models") {
			t.Errorf("line %d: exit code %d:\n%s", b.Line, code, out)
		}
	}
	if ran != 1 {
		t.Errorf("%d examples were found", ran)
	}
}

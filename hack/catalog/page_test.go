// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The page contains texts of package describe, so regenerate it after changing them.
func TestProvidersPageMatchesCatalog(t *testing.T) {
	var lines []*catalog.Line
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		lines = append(lines, line)
	}
	_, made, _ := bytes.Cut(providersPage(lines), []byte("-->\n"))
	page := framework.ReadFile(t, filepath.Join(framework.Root(), "docs", "providers.md"))
	_, written, _ := bytes.Cut(page, []byte("-->\n"))
	if diff := cmp.Diff(string(written), string(made)); diff != "" || len(made) < 10_000 {
		t.Errorf("docs/providers.md (-written +made, %d bytes): make catalog\n%s", len(made), diff)
	}
}

// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R7, NFR-003.
func TestRevealIsCalledByTheSendersOfValuesOnly(t *testing.T) {
	var callers []string
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains([]string{".git", "bin", "hack", "tests"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		content, err := fs.ReadFile(os.DirFS("../.."), name)
		if err == nil && strings.Contains(string(content), ".Reveal()") {
			callers = append(callers, name)
		}
		return err
	})
	framework.NoError(t, err)
	if want := []string{"internal/plugin/chat/token.go", "internal/reconcile/build/configdatabases.go", "internal/reconcile/build/derived.go", "internal/reconcile/build/shareddatabase.go", "internal/reconcile/objects/secret.go"}; !slices.Equal(callers, want) {
		t.Errorf("secret values are opened in %q, want %q", callers, want)
	}
}

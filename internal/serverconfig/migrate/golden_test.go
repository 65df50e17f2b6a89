// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

func lineOf(t *testing.T, name string) *catalog.Line {
	t.Helper()
	line, ok := catalog.Get(name)
	if !ok {
		t.Fatalf("no release line %s", name)
	}
	return line
}

// A golden file holds the changes, then the result, for files in the styles of 0.2 to 1.5.
func TestRewrite(t *testing.T) {
	for file, lines := range map[string][]string{
		"llama-stack-0.2": {"0.3", "0.7", "1.5"},
		"addresses-0.3":   {"0.4", "1.5"},
		"llama-stack-0.7": {"0.6", "1.5"},
		"ogx-1.5":         {"0.3", "0.8", "1.0"},
	} {
		content, err := os.ReadFile(filepath.Join("testdata", file+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			t.Run(file+" to "+line, func(t *testing.T) {
				result, changes, err := migrate.Rewrite(content, lineOf(t, line))
				if err != nil {
					t.Fatal(err)
				}
				var b strings.Builder
				for i := range changes {
					c := &changes[i]
					fmt.Fprintf(&b, "%s %s: %s: %s\n", c.Action, c.At("config.yaml"), c.Detail, c.Reason)
				}
				if strings.Contains(b.String(), "canary") {
					t.Errorf("the changes show a secret:\n%s", b.String())
				}
				expect.File(t, filepath.Join("testdata", file+".to."+line+".txt"), b.String()+"---\n"+string(result))
			})
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/fields"
)

func TestEveryNameIsExplained(t *testing.T) {
	tree, err := fields.Read()
	if err != nil {
		t.Fatal(err)
	}
	all := names(tree)
	if len(all) < 250 {
		t.Errorf("only %d names", len(all))
	}
	for _, name := range all {
		found, err := lookup(tree, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var text strings.Builder
		if err := found.print(&text); err != nil || !strings.Contains(text.String(), name) {
			t.Errorf("%s: %v\n%s", name, err, text.String())
		}
	}
}

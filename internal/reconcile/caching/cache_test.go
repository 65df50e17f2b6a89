// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// An informer calls the functions of indexes, and a panic there would end the process, at each start again.
//
// Proves: R63, L-26.
func TestIndexSurvivesWhatCannotBeRead(t *testing.T) {
	tree := gather.NewTree()
	tree.SetName("a")
	tree.Object["spec"] = map[string]any{"distribution": func() {}}
	if got := References(tree); !slices.Contains(got, "distribution /") {
		t.Errorf("indexed by %q", got)
	}
}

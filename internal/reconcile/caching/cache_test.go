// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// Proves: R63, L-26 (a panic in an index function would end the process again after each restart).
func TestIndexToleratesUndecodableObjects(t *testing.T) {
	tree := gather.NewTree()
	tree.SetName("a")
	tree.Object["spec"] = map[string]any{"distribution": func() {}}
	if got := References(tree); !slices.Contains(got, "distribution /") {
		t.Errorf("indexed by %q", got)
	}
}

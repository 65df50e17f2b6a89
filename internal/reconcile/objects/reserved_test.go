// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"maps"
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// Proves: R72.
func TestReservedPodLabelsAreTheOperatorsOwn(t *testing.T) {
	if own := slices.Sorted(maps.Keys(names.Labels("s"))); !slices.Equal(own, validation.ReservedPodLabels()) {
		t.Errorf("the operator sets %v, reserved are %v", own, validation.ReservedPodLabels())
	}
}

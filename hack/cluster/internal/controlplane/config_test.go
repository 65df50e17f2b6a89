// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"slices"
	"testing"
)

func TestFreePortsAreDistinct(t *testing.T) {
	ports, err := freePorts(20)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ports)
	if got := len(slices.Compact(ports)); got != 20 {
		t.Errorf("%d distinct ports, want 20", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

// Proves: L-01 (what is packed for long takes less memory, and comes back as it was, also while others pack and unpack).
func TestUnpackGivesBackWhatWasPacked(t *testing.T) {
	var all sync.WaitGroup
	for _, text := range []string{"", "x", strings.Repeat("y", minSize-1), strings.Repeat("label: value\n", 1000), "\x00\xff" + strings.Repeat("\x01", minSize)} {
		all.Go(func() {
			for range 50 {
				packed := Pack([]byte(text))
				if got, err := Unpack(packed); err != nil || string(got) != text {
					t.Errorf("%d bytes came back as %d, %v", len(text), len(got), err)
				}
				if len(text) > minSize && len(packed) > len(text)/4 {
					t.Errorf("%d bytes are packed into %d", len(text), len(packed))
				}
			}
		})
	}
	all.Wait()
}

func TestUnpackRefusesWhatWasNotPacked(t *testing.T) {
	whole := Pack(bytes.Repeat([]byte("abc "), 1000))
	for _, packed := range []string{"", "x", "unknown", string(compressed), whole[:len(whole)/2]} {
		if got, err := Unpack(packed); err == nil {
			t.Errorf("%q was unpacked as %q", packed, got)
		}
	}
}

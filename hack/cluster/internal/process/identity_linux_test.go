// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import "testing"

func TestParseStat(t *testing.T) {
	for _, c := range []struct{ name, line, state, ticks string }{
		{"plain", "7 (etcd) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 9 0 12345 1 2", "S", "12345"},
		{"a command like fields", "7 (a) R 1 (b c) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 9 0 99 1 2", "Z", "99"},
	} {
		state, ticks, err := parseStat(c.line)
		if err != nil || state != c.state || ticks != c.ticks {
			t.Errorf("%s: got %q, %q, %v; want %q, %q", c.name, state, ticks, err, c.state, c.ticks)
		}
	}
	for _, line := range []string{"", "7 (etcd", "7 (etcd) S 1"} {
		if _, _, err := parseStat(line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

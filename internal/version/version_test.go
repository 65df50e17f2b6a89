// SPDX-License-Identifier: Apache-2.0

package version

import "testing"

// Proves: R48 (builds of one release differ by their commit).
func TestBuild(t *testing.T) {
	keptVersion, keptCommit := version, commit
	t.Cleanup(func() { version, commit = keptVersion, keptCommit })
	for want, linked := range map[string][2]string{
		"1.2.3":        {"1.2.3", ""},
		"1.2.3+abc123": {"1.2.3", "abc123"},
	} {
		version, commit = linked[0], linked[1]
		if Build() != want || Version() != "1.2.3" {
			t.Errorf("%v: version %s, build %s, want %s", linked, Version(), Build(), want)
		}
	}
}

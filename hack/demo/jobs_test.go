// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"os/exec"
	"strings"
	"testing"
)

// The demo builds images in the background, prints their output, fails with them, and stops them at its end.
//
// Proves: NFR-004.
func TestDemoBuildsImagesInBackground(t *testing.T) {
	for name, c := range map[string]struct {
		script, want string
		fail         bool
	}{
		"succeeds":   {script: `begin one echo built; echo step; await one; echo after`, want: "step\n    built\nafter\n"},
		"fails":      {script: `begin one bash -c 'echo broken; exit 3'; await one; echo after`, want: "    broken\nerror: it failed with exit status 3: see above\n", fail: true},
		"is stopped": {script: `begin one bash -c 'sleep 600 & wait'; job=${jobs[one]}; end_jobs; for _ in {1..600}; do kill -0 -- "-$job" 2>/dev/null || { echo ended; break; }; sleep 0.1; done`, want: "ended\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `. ./lib.sh; scratch=$1; eval "$2"`, "bash", t.TempDir(), c.script)
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fail || strings.TrimSpace(string(out)) != strings.TrimSpace(c.want) {
				t.Errorf("%v:\n%s\nwant:\n%s", err, out, c.want)
			}
		})
	}
}

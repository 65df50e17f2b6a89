// SPDX-License-Identifier: Apache-2.0

package make

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// fakeUV resolves the releases of the release table, and NEWER as the newest release of ogx if it is set.
const fakeUV = `#!/bin/bash
[ "$1 $2" = "pip compile" ] || exit 1
wanted=$(cat "${@: -1}")
line=${wanted##*==} line=${line%.\*}
row=$(awk -F '\t' -v line="$line" '!/^#/ { if ($1 == line) { print $2 "==" $3; found = 1; exit } last = $2 "==" $3 } END { if (!found) print last }' tests/server/releases.tsv)
[ "$wanted" = ogx ] && [ -n "$NEWER" ] && row=ogx==$NEWER
echo "$row"
`

// The script fails if a release is newer than the catalog.
//
// Proves: R16.
func TestUpstreamReportsNewerReleases(t *testing.T) {
	version, err := exec.CommandContext(t.Context(), "bash", "-c", `. ../../tests/server/lib.sh && load_release newest && echo "$uv_version $version"`).Output()
	framework.NoError(t, err)
	uv, newest, _ := strings.Cut(strings.TrimSpace(string(version)), " ")
	cache := t.TempDir()
	bin := filepath.Join(cache, "llama-stack-k8s-operator", "uv", uv, "bin")
	framework.NoError(t, os.MkdirAll(bin, 0o700))
	python := filepath.Join(bin, "python")
	for file, text := range map[string]string{filepath.Join(bin, "uv"): fakeUV, python: "#!/bin/sh\necho python\n"} {
		framework.NoError(t, os.WriteFile(file, []byte(text), 0o700))
	}
	for newer, want := range map[string]struct {
		fails  bool
		output []string
	}{
		"":       {false, []string{"no release of ogx is newer than those of the catalog, of which " + newest + " is the newest"}},
		newest:   {false, []string{"no release of ogx is newer"}},
		"0.1.0":  {false, []string{"no release of ogx is newer"}},
		"99.0.0": {true, []string{"ogx 99.0.0 is newer than the catalog's " + newest, "ogx 99.0.0 cannot be installed"}},
	} {
		run := exec.CommandContext(t.Context(), "./upstream.sh")
		run.Env = append(os.Environ(), "LLSD_CACHE="+cache, "PYTHON="+python, "NEWER="+newer)
		out, err := run.CombinedOutput()
		if _, failed := errors.AsType[*exec.ExitError](err); failed != want.fails || err != nil && !failed {
			t.Errorf("newest %q: %v\n%s", newer, err, out)
		}
		for _, text := range want.output {
			if !strings.Contains(string(out), text) {
				t.Errorf("newest %q: no %q in\n%s", newer, text, out)
			}
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The demo installs missing packages unless disabled. If it cannot start a cluster, it prints alternatives.
//
// Proves: NFR-004.
func TestDemoInstallsPackages(t *testing.T) {
	for name, c := range map[string]struct {
		user, install string
		system        string // empty means Linux
		missing, fail bool
		noVenv        bool // Debian's Python without the venv module
		want, silent  string
	}{
		"missing":        {user: "0", missing: true, want: "Install the Debian packages runc curl (not with LLSD_INSTALL=no)\n    apt-get update -qq\n    apt-get install -y -qq --no-install-recommends runc curl\n"},
		"disabled":       {user: "0", install: "no", missing: true, fail: true, want: "apt-get install --no-install-recommends runc curl", silent: "==>"},
		"no venv module": {user: "0", noVenv: true, want: "    apt-get install -y -qq --no-install-recommends python3-venv\n"},
		"installed":      {user: "0", silent: "apt-get"},
		"another user":   {user: "1000", missing: true, fail: true, want: "sudo make demo; make demo-here", silent: "apt-get"},
		"not Linux":      {system: "Darwin", missing: true, fail: true, want: "needs Linux; make demo-here", silent: "apt-get"},
	} {
		t.Run(name, func(t *testing.T) {
			bin, status, python := t.TempDir(), "echo install ok installed", "exit 0"
			if c.missing {
				status = "exit 1"
			}
			if c.noVenv {
				python = "exit 1"
			}
			for program, text := range map[string]string{"uname": "echo " + cmp.Or(c.system, "Linux"), "python3": python, "id": "echo " + c.user, "dpkg-query": status, "apt-get": `echo apt-get "$@"`} {
				framework.NoError(t, os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", ". ./lib.sh; can_start_cluster; install_packages runc curl")
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LLSD_INSTALL="+c.install, "PYTHON=")
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fail || !strings.Contains(string(out), c.want) || c.silent != "" && strings.Contains(string(out), c.silent) {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

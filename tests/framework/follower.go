// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Follower runs the commands of documentation pages in a directory, with kubectl, the plugin and a kubeconfig of its
// own.
type Follower struct {
	T   testing.TB
	Dir string
	Env []string
}

// NewFollower builds the plugin and copies the administrator's kubeconfig.
func NewFollower(t testing.TB, c *Cluster) *Follower {
	t.Helper()
	programs := t.TempDir()
	NoError(t, GoBuild(t.Context(), programs, "./cmd/kubectl-llamastack"))
	kubeconfig := filepath.Join(programs, "kubeconfig")
	WriteFile(t, kubeconfig, ReadFile(t, c.Kubeconfig))
	path := strings.Join([]string{programs, filepath.Dir(c.Kubectl), os.Getenv("PATH")}, string(os.PathListSeparator))
	return &Follower{T: t, Dir: t.TempDir(), Env: append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+path)}
}

// Write writes a file into the directory.
func (f *Follower) Write(file, content string) {
	f.T.Helper()
	WriteFile(f.T, filepath.Join(f.Dir, file), content)
}

// Try runs commands and returns their output.
func (f *Follower) Try(commands string) (string, error) {
	cmd := exec.CommandContext(f.T.Context(), "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env, cmd.WaitDelay = f.Dir, f.Env, 10*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w\n%s\nprints:\n%s", err, commands, out)
	}
	return string(out), err
}

// Run runs commands that must succeed, and returns their output.
func (f *Follower) Run(commands string) string {
	f.T.Helper()
	out, err := f.Try(commands)
	NoError(f.T, err)
	return out
}

// numberOfFiles depends on the pods of the cluster.
var numberOfFiles = regexp.MustCompile(`\b\d+ files\b`)

// reportFile is a file that a command of the pages writes but does not overwrite.
const reportFile = "my-stack-report.tar.gz"

// Console runs each command of a block "console" until it prints the output that the page shows. It must fail if the
// page shows an error.
func (f *Follower) Console(page string, b CodeBlock) {
	f.T.Helper()
	for each := range strings.SplitSeq(strings.TrimPrefix(b.Text, "$ "), "\n$ ") {
		command, shown, _ := strings.Cut(each, "\n")
		if strings.Contains(command, " diff ") { // exits with 1 if there is a difference
			command += " || [ $? = 1 ]"
		}
		want := OutputPattern(numberOfFiles.ReplaceAllString(shown, "… files"))
		Eventually(f.T, Patience, fmt.Sprintf("%s, line %d: %s", page, b.Line, command), func() error {
			if err := os.Remove(filepath.Join(f.Dir, reportFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			out, err := f.Try(command)
			if fails := strings.HasPrefix(shown, "error") || strings.Contains(shown, "webhook for"); fails != (err != nil) {
				return fmt.Errorf("%w\n%s", errors.Join(errors.New("it should have succeeded or failed"), err), out)
			}
			if !want.MatchString(out) {
				return fmt.Errorf("it prints\n%s\ninstead of\n%s", out, shown)
			}
			return nil
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

// Package processtest starts processes for tests.
package processtest

import (
	"os/exec"
	"testing"
)

// Sleeper starts a process that sleeps for a minute and is killed at the end of the test.
func Sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

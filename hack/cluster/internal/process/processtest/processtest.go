// SPDX-License-Identifier: Apache-2.0

// Package processtest gives tests processes of their own.
package processtest

import (
	"os/exec"
	"testing"
)

// Sleeper starts a process that does nothing for a minute. It ends with the test.
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

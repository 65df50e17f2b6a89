// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Identity identifies one process: the kernel reuses a pid, but not a pid with the same start time.
type Identity struct {
	PID int `json:"pid"`
	// Start is an opaque mark of the start time, unique for a pid.
	Start string `json:"start"`
}

var errNoProcess = errors.New("no such process")

// Identify returns the identity of the running process pid.
func Identify(pid int) (Identity, error) {
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start}, nil
}

// Alive reports whether the process still runs. A zombie does not.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	start, err := startTime(id.PID)
	return err == nil && start == id.Start
}

// Stop ends the process by SIGTERM, and by SIGKILL after grace, and returns when it has ended. It does not signal
// another process with the same pid.
func (id Identity) Stop(grace time.Duration) error {
	for _, step := range []struct {
		signal syscall.Signal
		wait   time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 10 * time.Second}} {
		if !id.Alive() {
			return nil
		}
		if err := syscall.Kill(id.PID, step.signal); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stopping process %d: %w", id.PID, err)
		}
		for deadline := time.Now().Add(step.wait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) { //nolint:forbidigo // polls with a deadline
			if !id.Alive() {
				return nil
			}
		}
	}
	return fmt.Errorf("process %d still runs after SIGKILL", id.PID)
}

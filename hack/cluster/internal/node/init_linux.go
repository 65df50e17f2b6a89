// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// runInit is process 1 of the cluster: it starts the supervisor, reaps orphaned processes, and ends with the
// supervisor, which ends all other processes.
func runInit(ctx context.Context, args []string) error {
	pipes := []*os.File{os.NewFile(reportsFD, "reports"), os.NewFile(networkReadyFD, "network-ready")}
	supervisor, err := os.StartProcess(selfProgram, append([]string{"cluster", supervisorCommand}, args...), &os.ProcAttr{
		Env:   os.Environ(),
		Files: append([]*os.File{nil, os.Stdout, os.Stderr}, pipes...),
	})
	if err != nil {
		return err
	}
	// These ends of the pipes must not outlive the supervisor's.
	for _, pipe := range pipes {
		_ = pipe.Close()
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(supervisor.Pid, syscall.SIGTERM) })
	defer stop()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("collecting processes: %w", err)
		}
		if pid == supervisor.Pid {
			if status.ExitStatus() != 0 {
				return fmt.Errorf("the supervisor ended with status %d", status.ExitStatus())
			}
			return nil
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
)

// StopGrace is the time between SIGTERM and SIGKILL; it is short because the data is deleted anyway.
const StopGrace = 5 * time.Second

// Process is a program of the cluster that outlives this process.
type Process struct {
	Name string `json:"name"`
	Identity
	// Log is the file with its output.
	Log string `json:"log"`

	ended chan struct{} // closed when it has ended; nil for a process of another run
	err   error         // the error with which it ended; valid once ended is closed
}

// Launch starts a program in its own session, so that it outlives this process, with its output in dir/log/<name>.log.
func Launch(dir, name string, configure func(*exec.Cmd), program string, args ...string) (*Process, error) {
	p := &Process{Name: name, Log: filepath.Join(dir, "log", name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if configure != nil {
		configure(cmd)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	id, err := Identify(cmd.Process.Pid)
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	if err != nil {
		<-p.ended
		return nil, p.failure()
	}
	p.Identity = id
	return p, nil
}

// Exited is closed when the process has ended; it is nil for a process of another run.
func (p *Process) Exited() <-chan struct{} { return p.ended }

// StopWithError stops a process that is ending anyway, by force after grace, and returns its failure.
func (p *Process) StopWithError(grace time.Duration) error {
	if err := p.Stop(grace); err != nil {
		return err
	}
	<-p.ended
	return p.failure()
}

// failure returns an error with the end of the process's log.
func (p *Process) failure() error {
	reason := "ended"
	if p.err != nil {
		reason = p.err.Error()
	}
	return &EndedError{name: p.Name, Log: p.Log, reason: reason}
}

// EndedError means that a process has ended unexpectedly.
type EndedError struct{ name, Log, reason string }

func (e *EndedError) Error() string {
	return fmt.Sprintf("%s stopped (%s); the end of its log %s:\n%s", e.name, e.reason, e.Log, LogTail(e.Log))
}

// LogTail returns the last lines of a log file.
func LogTail(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return files.LastLines(string(data), 15)
}

// Until polls done until it returns nil. It fails when ctx ends, with the last error of done, or as soon as one of the
// processes ends.
func Until(ctx context.Context, description string, processes []*Process, done func(context.Context) error) error {
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		for _, p := range processes {
			select {
			case <-p.ended:
				return p.failure()
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w (last: %w)", description, ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

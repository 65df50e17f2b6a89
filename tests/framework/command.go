// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// StartCommand runs a program in a directory until the test ends, and logs its output if the test fails. The channel is
// closed when it has ended.
func StartCommand(t testing.TB, dir string, command ...string) (ended <-chan struct{}) {
	t.Helper()
	ended, _ = startCommand(t, dir, command...)
	return ended
}

// startCommand is StartCommand; stop ends the program and waits until it has ended.
func startCommand(t testing.TB, dir string, command ...string) (ended <-chan struct{}, stop func()) {
	t.Helper()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Dir, program.Stdout, program.Stderr = dir, &log, &log
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGINT) }
	program.WaitDelay = databaseTimeout
	done := make(chan struct{})
	NoError(t, program.Start())
	go func() { _ = program.Wait(); close(done) }()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s printed:\n%s", command[0], &log)
		}
	})
	return done, stop
}

// Output runs a program for up to a while, and returns its standard output without the space around it. env is its
// whole environment; nil means that of the test.
func Output(t testing.TB, within time.Duration, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var stderr bytes.Buffer
	command := exec.CommandContext(ctx, program, args...)
	command.Env, command.Stderr = env, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s%s", program, err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const (
	// insideVariable is set if the program runs in its own network namespace.
	insideVariable = "LLSD_TEST_ISOLATED"
	// podRange is the range of pod addresses on the control plane tier. Services have loopback addresses.
	podRange = "10.244.0.0/24"
)

// IsolatedMain runs the tests against a control plane in a network namespace in which all Service and pod addresses are
// local, and exits. It calls setUp before the tests and tearDown after them, and needs root and the program ip.
func IsolatedMain(m *testing.M, suffix string, setUp func(*Cluster) error, tearDown func() error) {
	run := isolate
	if os.Getenv(insideVariable) != "" {
		run = func() (int, error) { return runInCluster(m, suffix, setUp, tearDown) }
	}
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runInCluster(m *testing.M, suffix string, setUp func(*Cluster) error, tearDown func() error) (code int, err error) {
	if err := localRanges(); err != nil {
		return 1, err
	}
	c, err := StartCluster(ControlPlane, suffix)
	if err != nil {
		return 1, err
	}
	code = 1
	if err = setUp(c); err == nil {
		code = m.Run()
	}
	end := c.Remove
	if code != 0 {
		fmt.Fprintln(os.Stderr, "logs of the cluster:", c.Logs)
		end = c.Stop
	}
	return code, errors.Join(err, tearDown(), end())
}

// isolate runs this program again in a network namespace of its own, and returns its exit code.
func isolate() (int, error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("these tests need root: they make a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return 1, fmt.Errorf("these tests need the program ip (Debian package iproute2): %w", err)
	}
	again := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	again.Env = append(os.Environ(), insideVariable+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	err := again.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return 1, nil // it has printed the reason
	}
	if err != nil {
		return 1, fmt.Errorf("network namespace: %w", err)
	}
	return 0, nil
}

func localRanges() error {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		{"route", "add", "local", podRange, "dev", "lo"},
	} {
		if out, err := exec.CommandContext(context.Background(), "ip", arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", arguments, err, out)
		}
	}
	return nil
}

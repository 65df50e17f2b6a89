// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

const (
	// insideVariable is set if the program runs in its own network namespace.
	insideVariable = "LLSD_TEST_ISOLATED"
	// ServiceRange is the range of Service addresses on the control plane tier.
	ServiceRange = "10.96.0.0/16"
	// PodRange is the range of pod addresses on the control plane tier.
	PodRange = "10.244.0.0/24"
)

// RunIsolated runs this program again, with the function, in a network namespace in which all Service and pod addresses are local. It returns
// the exit code, and needs root and the program ip.
func RunIsolated(run func() (int, error)) (int, error) {
	if os.Getenv(insideVariable) != "" {
		if err := localRanges(); err != nil {
			return 1, err
		}
		return run()
	}
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
		return 1, nil // it has said why
	}
	if err != nil {
		return 1, fmt.Errorf("network namespace: %w", err)
	}
	return 0, nil
}

func localRanges() error {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		{"route", "add", "local", ServiceRange, "dev", "lo"},
		{"route", "add", "local", PodRange, "dev", "lo"},
	} {
		if out, err := exec.CommandContext(context.Background(), "ip", arguments...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", arguments, err, out)
		}
	}
	return nil
}

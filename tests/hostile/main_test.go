// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	// insideVariable is set if the program runs in its network namespace.
	insideVariable = "LLSD_HOSTILE_INSIDE"
	// serviceRange is the range of Service addresses on the control plane tier.
	serviceRange = "10.96.0.0/20"
	// podRange is where the pods seem to be.
	podRange = "10.244.0.0/24"
	crdName  = "crd/llamastackdistributions.llamastack.io"
)

var cluster *fixture.Cluster

func TestMain(m *testing.M) {
	var code int
	var err error
	if os.Getenv(insideVariable) == "" {
		code, err = outside()
	} else {
		code, err = inside(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// outside runs this program again in a network namespace of its own.
func outside() (int, error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("these tests need root: they make a control group with the operator's memory limit and a network namespace")
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

func inside(m *testing.M) (code int, err error) {
	for _, arguments := range [][]string{
		{"link", "set", "lo", "up"},
		{"route", "add", "local", serviceRange, "dev", "lo"},
		{"route", "add", "local", podRange, "dev", "lo"},
	} {
		if out, err := exec.CommandContext(context.Background(), "ip", arguments...).CombinedOutput(); err != nil {
			return 1, fmt.Errorf("ip %v: %w: %s", arguments, err, out)
		}
	}
	if cluster, err = fixture.Up(fixture.ControlPlane, "hostile"); err != nil {
		return 1, err
	}
	defer func() {
		end := cluster.Remove
		if code != 0 {
			fmt.Fprintln(os.Stderr, "logs of the cluster:", cluster.Logs)
			end = cluster.Down
		}
		err = errors.Join(err, end())
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, arguments := range [][]string{
		{"apply", "-f", filepath.Join(fixture.Root(), "dist", "install.yaml")},
		{"wait", "--for=condition=Established", "--timeout=30s", crdName},
	} {
		if _, err := cluster.KubectlRun(ctx, arguments...); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

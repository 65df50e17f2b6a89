// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
)

// Preflight checks that the node tier can run here, and may install packages.
func Preflight(ctx context.Context, install bool, //nolint:revive // it is the command's flag
	progress io.Writer) error {
	m := Inspect()
	if packages := m.missingPackages(); install && m.root && m.aptGet && len(packages) > 0 {
		if err := installPackages(ctx, packages, progress); err != nil {
			return err
		}
		m = Inspect()
	}
	return m.check()
}

// Inspect returns the properties of this machine.
func Inspect() Machine {
	found := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	m := Machine{root: os.Geteuid() == 0, programs: map[string]bool{}, aptGet: found("apt-get")}
	for program := range packageOf {
		m.programs[program] = found(program)
	}
	for _, dir := range cniDirectories {
		if m.CNIBin == "" && hasAll(dir, cniPlugins) {
			m.CNIBin = dir
		}
	}
	// Version 2 has the one file, version 1 a directory for each controller.
	m.cgroups = hasAll("/sys/fs/cgroup", []string{"cgroup.controllers"}) || hasAll("/sys/fs/cgroup", []string{"memory", "pids"})
	return m
}

func hasAll(dir string, names []string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

func installPackages(ctx context.Context, packages []string, progress io.Writer) error {
	for _, args := range [][]string{
		{"update", "-qq"},
		append([]string{"install", "-y", "-qq", "--no-install-recommends"}, packages...),
	} {
		_, _ = fmt.Fprintf(progress, "apt-get %s\n", args)
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("installing packages: apt-get %s: %w\n%s", args[0], err, files.LastLines(string(out), 15))
		}
	}
	return nil
}

// Command runs a program and includes its output in the error.
func Command(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s %q: %w: %s", program, args, err, files.LastLines(string(out), 5))
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// preflight checks that the node tier can run here, and may install packages.
func preflight(ctx context.Context, install bool, //nolint:revive // it is the command's flag
	progress io.Writer) error {
	m := inspectMachine()
	if packages := m.missingPackages(); install && m.root && m.aptGet && len(packages) > 0 {
		if err := installPackages(ctx, packages, progress); err != nil {
			return err
		}
		m = inspectMachine()
	}
	return m.check()
}

func inspectMachine() machine {
	found := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	m := machine{root: os.Geteuid() == 0, programs: map[string]bool{}, aptGet: found("apt-get")}
	for program := range packageOf {
		m.programs[program] = found(program)
	}
	for _, dir := range cniDirectories {
		if m.cniBin == "" && hasAll(dir, cniPlugins) {
			m.cniBin = dir
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
			return fmt.Errorf("installing packages: apt-get %s: %w\n%s", args[0], err, lastLines(string(out), 15))
		}
	}
	return nil
}

// command runs a program and makes its output part of an error.
func command(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%s %q: %w: %s", program, args, err, lastLines(string(out), 5))
	}
	return err
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachineRequirementsHavePackages(t *testing.T) {
	for program := range Inspect().programs {
		if packageOf[program] == "" {
			t.Errorf("no package is known for %s", program)
		}
	}
	if hasAll(t.TempDir(), []string{"ptp"}) {
		t.Error("an empty directory has a plugin")
	}
}

func TestDelegateHandsDownWhatTheKernelHas(t *testing.T) {
	group := t.TempDir()
	if err := delegate(group); err != nil {
		t.Errorf("a version 1 hierarchy: %v", err)
	}
	if err := os.WriteFile(filepath.Join(group, "cgroup.controllers"), []byte("cpuset cpu io memory pids rdma\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := delegate(group); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(group, "cgroup.subtree_control"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "+cpu +cpuset +io +memory +pids"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

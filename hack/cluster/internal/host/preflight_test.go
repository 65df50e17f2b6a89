// SPDX-License-Identifier: Apache-2.0

package host

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// capableMachine returns a machine that can run the node tier.
func capableMachine() Machine {
	m := Machine{root: true, programs: map[string]bool{}, CNIBin: "/usr/lib/cni", aptGet: true, cgroups: true}
	for program := range packageOf {
		m.programs[program] = true
	}
	return m
}

func TestPreflightAccepts(t *testing.T) {
	if err := capableMachine().check(); err != nil {
		t.Errorf("a machine that meets all requirements: %v", err)
	}
}

func TestPreflightMessages(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Machine)
		want   string
	}{
		{"not root", func(m *Machine) { m.root = false }, "run the command with sudo"},
		{
			"packages", func(m *Machine) {
				m.programs["ctr"], m.programs["containerd"], m.programs["nft"], m.CNIBin = false, false, false, ""
			},
			"run apt-get install --no-install-recommends containerd containernetworking-plugins nftables, or set --install-packages",
		},
		{
			"packages on another system", func(m *Machine) { m.programs["runc"], m.aptGet = false, false },
			"install them (on Debian, the packages are runc)",
		},
		{"no cgroups", func(m *Machine) { m.cgroups = false }, "no cgroups below /sys/fs/cgroup"},
	} {
		m := capableMachine()
		m.programs = maps.Clone(m.programs)
		c.change(&m)
		err := m.check()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v; want a message with %q", c.name, err, c.want)
		}
	}
}

func TestPreflightReportsAllProblemsAtOnce(t *testing.T) {
	err := Machine{programs: map[string]bool{"ip": false}}.check()
	if err == nil {
		t.Fatal("no error")
	}
	if got := strings.Count(err.Error(), "\n  - "); got != 3 {
		t.Errorf("%d problems in %q, want 3", got, err)
	}
}

func TestMissingPackagesAreNamedOnce(t *testing.T) {
	m := capableMachine()
	m.programs["ctr"], m.programs["containerd"] = false, false
	if diff := cmp.Diff([]string{"containerd"}, m.missingPackages()); diff != "" {
		t.Error(diff)
	}
}

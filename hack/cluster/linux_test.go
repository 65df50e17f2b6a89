// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	for _, c := range []struct{ name, line, state, ticks string }{
		{"plain", "7 (etcd) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 9 0 12345 1 2", "S", "12345"},
		{"a command like fields", "7 (a) R 1 (b c) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 9 0 99 1 2", "Z", "99"},
	} {
		state, ticks, err := parseStat(c.line)
		if err != nil || state != c.state || ticks != c.ticks {
			t.Errorf("%s: got %q, %q, %v; want %q, %q", c.name, state, ticks, err, c.state, c.ticks)
		}
	}
	for _, line := range []string{"", "7 (etcd", "7 (etcd) S 1"} {
		if _, _, err := parseStat(line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}

func TestParseRoute(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       netip.Prefix
		ok         bool
	}{
		{"heading", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT", netip.Prefix{}, false},
		{"network", "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0", netip.MustParsePrefix("172.17.0.0/16"), true},
		{"default", "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0", netip.MustParsePrefix("0.0.0.0/0"), true},
		{"one that refuses", "*\t00001EAC\t00000000\t0200\t0\t0\t1048576\tFCFFFFFF\t0\t0\t0", netip.Prefix{}, false},
	} {
		got, ok := parseRoute(c.line)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestMachineRequirementsHavePackages(t *testing.T) {
	for program := range inspectMachine().programs {
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

func TestOutsideNamesTheMachinesPath(t *testing.T) {
	s := &supervisor{order: nodeOrder{Dir: "/tmp/c"}}
	got := s.outside("log " + nodeRoot + "/log/etcd.log")
	if want := "log /tmp/c/log/etcd.log"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if strings.Contains(got, nodeRoot) {
		t.Error("the message names a path that the machine does not have")
	}
}

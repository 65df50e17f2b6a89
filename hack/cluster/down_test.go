// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process/processtest"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

func TestDownRemovesAllButLogs(t *testing.T) {
	dir := t.TempDir()
	unlock, err := state.Lock(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	cmd := processtest.Sleeper(t)
	id, err := process.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"log/etcd.log", "pki/ca.key", "kubeconfig"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &state.State{Ready: true, Result: state.Result{Dir: dir, Tier: state.ControlPlane}, Processes: []*process.Process{{Name: "etcd", Identity: id}}}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}

	if existed, err := Down(t.Context(), dir, io.Discard); err != nil || !existed {
		t.Fatalf("got %v, %v; want true", existed, err)
	}
	if id.Alive() {
		t.Error("the process still runs")
	}
	for file, want := range map[string]bool{"log/etcd.log": true, "pki": false, "kubeconfig": false, "state.json": false} {
		_, err := os.Stat(filepath.Join(dir, file))
		if exists := !errors.Is(err, os.ErrNotExist); exists != want {
			t.Errorf("%s exists: %v, want %v", file, exists, want)
		}
	}
	if existed, err := Down(t.Context(), dir, io.Discard); err != nil || existed {
		t.Errorf("again: got %v, %v; want false", existed, err)
	}
}

func TestInspectReportsBrokenProcess(t *testing.T) {
	dir := t.TempDir()
	if _, err := Inspect(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "cluster up --dir "+dir) {
		t.Errorf("no cluster: got %v; want an error that says how to start one", err)
	}
	log := filepath.Join(dir, "log", "etcd.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(log, []byte("first\nthe disk is full\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &state.State{Ready: true, Result: state.Result{Dir: dir, Tier: state.ControlPlane}, Processes: []*process.Process{{Name: "etcd", Identity: process.Identity{PID: 1, Start: "never"}, Log: log}}}
	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	report, err := Inspect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"etcd no longer runs", log, "the disk is full"} {
		if !strings.Contains(report.Problem, want) {
			t.Errorf("the problem %q does not say %q", report.Problem, want)
		}
	}
	if _, err := ServiceAccountKubeconfig(t.Context(), dir, "default/a", 0); err == nil || !strings.Contains(err.Error(), "etcd") {
		t.Errorf("using it: got %v; want an error that names etcd", err)
	}
}

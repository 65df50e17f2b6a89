// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// nodeProcess is a process of the node, and what started it.
type nodeProcess struct {
	name    string
	pid     int
	command []string
}

// findNodeProcess finds the one process of the node whose program has the name.
func findNodeProcess(t *testing.T, name string) nodeProcess {
	t.Helper()
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	network := "" // the node's: each process that the test started has it, too
	for id, p := range all {
		if isProgram(p.command, "containerd") && belongs(all, id, cluster.Dir) {
			network = p.network
		}
	}
	for id, p := range all {
		if network == "" || p.network != network || !isProgram(p.command, name) {
			continue
		}
		pid, err := strconv.Atoi(id)
		if err != nil {
			t.Fatal(err)
		}
		return nodeProcess{name, pid, strings.Fields(p.command)}
	}
	t.Fatalf("no process %s runs on the node", name)
	return nodeProcess{}
}

// isProgram reports whether a command line begins with the name of a program, wherever its file is.
func isProgram(command, name string) bool {
	words := strings.Fields(command)
	return len(words) > 0 && filepath.Base(words[0]) == name
}

func (p nodeProcess) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.pid, signal); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// kill ends it at once.
func (p nodeProcess) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	fixture.Eventually(t, soon, p.name+" ends", func() error {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			return errors.New("it runs")
		}
		return nil
	})
}

// startOnNode starts a program in the namespaces of the node, where the cluster ends it in the end. It prints into the cluster's logs.
func startOnNode(t *testing.T, name string, command []string) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(cluster.Logs, name+"-again.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd := onNode(context.Background(), t, command...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait() }()
}

// onNode is a command in the namespaces of the node.
func onNode(ctx context.Context, t *testing.T, command ...string) *exec.Cmd {
	t.Helper()
	target := strconv.Itoa(findNodeProcess(t, "containerd").pid)
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", target, "--mount", "--net", "--pid", "--wd", "--"}, command...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "TMPDIR=/var/tmp"}
	return cmd
}

// runOnNode runs a command in the namespaces of the node.
func runOnNode(t *testing.T, command ...string) {
	t.Helper()
	if out, err := onNode(t.Context(), t, command...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(command, " "), err, out)
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

type nodeProcess struct {
	name    string
	pid     int
	command []string
}

// findNodeProcess finds the node's only process whose program has the name.
func findNodeProcess(t *testing.T, name string) nodeProcess {
	t.Helper()
	found, err := searchNodeProcess(name)
	framework.NoError(t, err)
	return found
}

// searchNodeProcess is findNodeProcess for code that undoes a fault, which must not end the test early.
func searchNodeProcess(name string) (nodeProcess, error) {
	all, err := processes()
	if err != nil {
		return nodeProcess{}, err
	}
	network := "" // the node's network namespace, as processes that a test started have the same name
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
		return nodeProcess{name, pid, strings.Fields(p.command)}, err
	}
	return nodeProcess{}, fmt.Errorf("%w: %s", errNotOnNode, name)
}

var errNotOnNode = errors.New("the node does not run this program")

// isProgram reports whether a command line starts a program of the name, in any folder.
func isProgram(command, name string) bool {
	words := strings.Fields(command)
	return len(words) > 0 && filepath.Base(words[0]) == name
}

func (p nodeProcess) signal(signal syscall.Signal) error {
	if err := syscall.Kill(p.pid, signal); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

func (p nodeProcess) kill(ctx context.Context) error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	return framework.Poll(ctx, soon, func() error {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			return fmt.Errorf("%s runs", p.name)
		}
		return nil
	})
}

// startOnNode starts a program in the node's namespaces, with output in the cluster's logs. The program ends with the
// cluster.
func startOnNode(name string, command []string) error {
	log, err := os.OpenFile(filepath.Join(cluster.Logs, name+"-again.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd, err := onNode(context.Background(), command...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

func onNode(ctx context.Context, command ...string) (*exec.Cmd, error) {
	containerd, err := searchNodeProcess("containerd")
	if err != nil {
		return nil, err
	}
	target := strconv.Itoa(containerd.pid)
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--target", target, "--mount", "--net", "--pid", "--wd", "--"}, command...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/root", "TMPDIR=/var/tmp"}
	return cmd, nil
}

func runOnNode(ctx context.Context, command ...string) error {
	cmd, err := onNode(ctx, command...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// undoing returns a function that undoes a fault once, and that also runs when the test ends. It gives fix a context of
// its own, because the test's context has ended by then, and reports an error without ending the test.
func undoing(t *testing.T, fix func(context.Context) error) (undo func()) {
	t.Helper()
	undo = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recovery)
		defer cancel()
		if err := fix(ctx); err != nil {
			t.Errorf("the fault is not undone: %v", err)
		}
	})
	t.Cleanup(undo)
	return undo
}

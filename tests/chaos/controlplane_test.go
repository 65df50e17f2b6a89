// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	apiServer = "kube-apiserver"
	etcd      = "etcd"
)

// controlPlane has the processes of the cluster, which the tests stop and start.
type controlPlane struct {
	dir       string
	processes map[string]*planeProcess
}

type planeProcess struct {
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Log     string `json:"log"`
	command []string
	own     *exec.Cmd // set once the suite has started it
}

func openControlPlane(c *framework.Cluster) (*controlPlane, error) {
	data, err := os.ReadFile(filepath.Join(c.Dir, "state.json"))
	if err != nil {
		return nil, err
	}
	var state struct {
		Processes []*planeProcess `json:"processes"`
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return nil, err
	}
	p := &controlPlane{dir: c.Dir, processes: map[string]*planeProcess{}}
	for _, one := range state.Processes {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", one.PID))
		if err != nil {
			return nil, err
		}
		one.command = strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		p.processes[one.Name] = one
	}
	return p, nil
}

func (p *controlPlane) kill(t *testing.T, name string) {
	t.Helper()
	one := p.processes[name]
	framework.NoError(t, syscall.Kill(one.PID, syscall.SIGKILL))
	if one.own != nil {
		_ = one.own.Wait()
		one.own = nil
	}
	framework.Eventually(t, time.Minute, name+" ends", func() error {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", one.PID)); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
			return errors.New("it runs")
		}
		return nil
	})
}

// freeze stops a process: it keeps its connections, and does not respond.
func (p *controlPlane) freeze(t *testing.T, name string) {
	t.Helper()
	framework.NoError(t, syscall.Kill(p.processes[name].PID, syscall.SIGSTOP))
}

func (p *controlPlane) thaw(t *testing.T, name string) {
	t.Helper()
	framework.NoError(t, syscall.Kill(p.processes[name].PID, syscall.SIGCONT))
}

// start starts a killed process again, with the same arguments.
func (p *controlPlane) start(t *testing.T, name string) {
	t.Helper()
	one := p.processes[name]
	log, err := os.OpenFile(one.Log, os.O_APPEND|os.O_WRONLY, 0)
	framework.NoError(t, err)
	defer func() { _ = log.Close() }()
	cmd := exec.CommandContext(context.Background(), one.command[0], one.command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	framework.NoError(t, cmd.Start())
	one.own, one.PID = cmd, cmd.Process.Pid
}

func (p *controlPlane) ready(t *testing.T) {
	t.Helper()
	framework.Eventually(t, 2*time.Minute, "the API server is ready", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := cluster.KubectlRun(ctx, "get", "--raw", "/readyz")
		return err
	})
}

// end stops the processes that the suite has started; the others end with the cluster.
func (p *controlPlane) end() {
	for _, one := range p.processes {
		_ = syscall.Kill(one.PID, syscall.SIGCONT)
		if one.own != nil {
			_ = one.own.Process.Kill()
			_ = one.own.Wait()
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/sandbox"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// supervisor starts and watches the processes of a node from inside. It restarts none, so that a test that loses one
// fails.
type supervisor struct {
	config
	spec    nodeSpec
	reports *os.File

	mu        sync.Mutex
	processes []*process.Process
}

// runSupervisor starts the node and runs until it is told to stop.
func runSupervisor(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: got %d arguments, need one", supervisorCommand, len(args))
	}
	s := &supervisor{reports: os.NewFile(reportsFD, "reports")}
	if err := json.Unmarshal([]byte(args[0]), &s.spec); err != nil {
		return err
	}
	s.config = newConfig(s.spec.Plan)
	if err := s.up(ctx); err != nil {
		s.report(report{Error: s.withHostPaths(err.Error())})
		return err
	}
	s.report(report{Ready: true})
	_ = s.reports.Close()
	<-ctx.Done()
	s.stop()
	return nil
}

// withHostPaths replaces the cluster's directory in a message by the machine's path.
func (s *supervisor) withHostPaths(message string) string {
	return strings.ReplaceAll(message, sandbox.Root, s.spec.Dir)
}

// report sends the result to the command that started the cluster, which may have ended.
func (s *supervisor) report(r report) { _ = json.NewEncoder(s.reports).Encode(r) }

// Write reports a line of progress, which makes the supervisor a progress writer.
func (s *supervisor) Write(line []byte) (int, error) {
	s.report(report{Progress: strings.TrimSuffix(s.withHostPaths(string(line)), "\n")})
	return len(line), nil
}

func (s *supervisor) up(ctx context.Context) error {
	networkReady := os.NewFile(networkReadyFD, "network-ready")
	if n, err := networkReady.Read(make([]byte, 1)); n != 1 {
		return fmt.Errorf("the command that starts the cluster has ended: %w", err)
	}
	_ = networkReady.Close()
	if err := sandbox.Mount(s.spec.Dir, s.spec.Bin); err != nil {
		return err
	}
	if err := os.Chdir(sandbox.Root); err != nil {
		return err
	}
	if err := sandbox.SetUpNetwork(ctx, s.spec.Plan); err != nil {
		return err
	}
	if err := host.CreateCgroups(s.spec.Plan.Link); err != nil {
		return err
	}
	if err := s.writeNodeFiles(s.spec.CNIBin); err != nil {
		return err
	}
	containerd := program{name: "containerd", path: "containerd", args: []string{"--config", s.Path("containerd.toml")}}
	if err := s.start(containerd); err != nil {
		return err
	}
	api, err := s.StartControlPlane(ctx, s, s.watch)
	if err != nil {
		return err
	}
	if err := bootstrap(ctx, api); err != nil {
		return err
	}
	if err := s.importPause(ctx); err != nil {
		return err
	}
	for _, p := range s.nodePrograms() {
		if err := s.start(p); err != nil {
			return err
		}
	}
	go provisioner{api, s.Path("volumes")}.run(ctx, os.Stderr)
	return s.waitUsable(ctx, api)
}

func (s *supervisor) waitUsable(ctx context.Context, api *apiclient.Client) error {
	for _, step := range []struct {
		name string
		done func(context.Context) error
	}{
		{"the registry", func(ctx context.Context) error {
			return apiclient.ProbeHTTP(ctx, "http://"+s.spec.Plan.Registry()+"/v2/")
		}},
		{"cluster DNS", func(ctx context.Context) error {
			return apiclient.ProbeHTTP(ctx, fmt.Sprintf("http://%s:%d/ready", s.spec.Plan.Node, dnsReadyPort))
		}},
		{"kube-proxy", func(ctx context.Context) error { return apiclient.ProbeHTTP(ctx, "http://"+proxyHealth+"/healthz") }},
		{"the node", func(ctx context.Context) error { return nodeReady(ctx, api) }},
	} {
		if err := process.Until(ctx, step.name, s.all(), step.done); err != nil {
			return err
		}
	}
	return nil
}

func (s *supervisor) importPause(ctx context.Context) error {
	archive := s.Path("pause.tar")
	if err := imagefile.WriteProgram(archive, pauseImage, s.Path("bin", "pause")); err != nil {
		return fmt.Errorf("packing the sandbox image: %w", err)
	}
	return process.Until(ctx, "containerd", s.all(), func(ctx context.Context) error {
		return host.Command(ctx, "ctr", "--namespace", "k8s.io", "images", "import", archive)
	})
}

func (s *supervisor) start(p program) error {
	_, _ = fmt.Fprintf(s, "starting %s\n", p.name)
	started, err := process.Launch(s.Root, p.name, nil, p.path, p.args...)
	if err != nil {
		return err
	}
	return s.watch(started)
}

// watch records that a process runs, and later that it ended.
func (s *supervisor) watch(p *process.Process) error {
	s.mu.Lock()
	s.processes = append(s.processes, p)
	s.mu.Unlock()
	go func() {
		<-p.Exited()
		if err := s.save(); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
		}
	}()
	return s.save()
}

func (s *supervisor) all() []*process.Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.processes)
}

func (s *supervisor) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []state.NodeProcess
	for _, p := range s.processes {
		list = append(list, state.NodeProcess{Name: p.Name, Running: p.Alive()})
	}
	data, err := files.JSON(list)
	if err != nil {
		return err
	}
	return files.WriteAtomic(state.NodeProcessesFile(s.Root), data)
}

// stop stops the processes, last started first. Containers end with process 1.
func (s *supervisor) stop() {
	var errs []error
	for _, p := range slices.Backward(s.all()) {
		errs = append(errs, p.Stop(process.StopGrace))
	}
	if err := errors.Join(errs...); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
	}
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/controlplane"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/node"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/programs"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Options select the cluster to start.
type Options struct {
	Tier state.Tier
	// Name is only shown to users.
	Name string
	// Dir is the cluster's directory, an absolute path that only the cluster uses.
	Dir string
	// Kubernetes is a directory whose go.mod pins another release of Kubernetes, for the control plane tier; empty means
	// the default.
	Kubernetes string
	// InstallPackages lets the node tier install missing Debian packages.
	InstallPackages bool
	// Timeout bounds the start, not the build before it.
	Timeout time.Duration
	// Progress receives messages for users.
	Progress io.Writer
}

// startAttempts bounds the starts of a control plane, see controlplane.RetryReason.
const startAttempts = 3

// Up returns the running cluster, or removes the rest of an earlier one and starts a cluster. After an error no process
// is left running; the error has the end of the failed process's log.
func Up(ctx context.Context, o Options) (*state.Result, error) {
	if o.Tier == state.Node {
		if err := host.Preflight(ctx, o.InstallPackages, o.Progress); err != nil {
			return nil, err
		}
	}
	bin, err := Build(ctx, o.Tier, o.Kubernetes, o.Progress)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	unlock, err := state.Lock(ctx, o.Dir, o.Progress)
	if err != nil {
		return nil, err
	}
	defer unlock()

	result, err := reuse(ctx, o)
	if result != nil || err != nil {
		return result, err
	}
	if err := os.RemoveAll(filepath.Join(o.Dir, "log")); err != nil {
		return nil, err
	}
	return start(ctx, o, bin)
}

// reuse returns the cluster of the directory if it is usable, and removes a broken one.
func reuse(ctx context.Context, o Options) (*state.Result, error) {
	old, err := state.Load(o.Dir)
	if old == nil || err != nil {
		return nil, err
	}
	if usable(ctx, old) {
		if old.Result.Tier != o.Tier {
			return nil, fmt.Errorf("a cluster of tier %s runs in %s: stop it first (cluster down --dir %s), or use another directory", old.Result.Tier, o.Dir, o.Dir)
		}
		_, _ = fmt.Fprintf(o.Progress, "cluster %s already runs\n", old.Result.Name)
		result := old.Result
		result.Started = false
		return &result, nil
	}
	_, _ = fmt.Fprintln(o.Progress, "removing the files of an earlier cluster")
	return nil, clean(o.Dir, old, o.Progress)
}

// usable reports whether all processes of the cluster run and its API server is ready, which it polls for a moment.
func usable(ctx context.Context, s *state.State) bool {
	api, err := apiclient.FromKubeconfig(s.Result.Kubeconfig)
	if err != nil {
		return false
	}
	for range 10 {
		if intact, err := s.Intact(); err != nil || !intact {
			return false
		}
		requestCtx, cancel := context.WithTimeout(ctx, time.Second)
		err := api.Get(requestCtx, "/readyz", nil)
		cancel()
		if err == nil {
			return true
		}
		time.Sleep(100 * time.Millisecond) //nolint:forbidigo // polls, with a deadline
	}
	return false
}

func start(ctx context.Context, o Options, bin string) (*state.Result, error) {
	pinned, err := overrideSources(o.Tier, o.Kubernetes)
	if err != nil {
		return nil, err
	}
	if pinned == nil {
		pinned = sources
	}
	version, err := programs.KubernetesVersion(pinned)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	s := &state.State{Result: state.Result{
		Name: o.Name, Tier: o.Tier, Started: true, Dir: o.Dir,
		Logs: filepath.Join(o.Dir, "log"), Kubeconfig: filepath.Join(o.Dir, controlplane.AdminKubeconfig),
		Kubectl: filepath.Join(bin, "kubectl"), KubernetesVersion: version,
	}}
	if err := os.MkdirAll(s.Result.Logs, 0o700); err != nil {
		return nil, err
	}
	run := startLocalControlPlane
	if o.Tier == state.Node {
		run = node.Start
	}
	if err := run(ctx, s, bin, o.Progress); err != nil {
		return nil, errors.Join(err, clean(o.Dir, s, io.Discard))
	}
	s.Ready = true
	if err := s.Save(); err != nil {
		return nil, errors.Join(err, clean(o.Dir, s, io.Discard))
	}
	_, _ = fmt.Fprintf(o.Progress, "cluster %s is ready after %.1f s; logs in %s\n", o.Name, time.Since(begin).Seconds(), s.Result.Logs)
	return &s.Result, nil
}

func startLocalControlPlane(ctx context.Context, s *state.State, bin string, progress io.Writer) error {
	for attempt := 1; ; attempt++ {
		c, err := controlplane.Local(s.Result.Dir, bin)
		if err != nil {
			return err
		}
		s.Result.Server, s.Result.Etcd = c.Server(), c.EtcdURL()
		_, err = c.StartControlPlane(ctx, progress, func(p *process.Process) error {
			s.Processes = append(s.Processes, p)
			return s.Save()
		})
		reason := controlplane.RetryReason(err)
		if reason == "" || attempt == startAttempts {
			return err
		}
		_, _ = fmt.Fprintln(progress, reason)
		if err := clean(s.Result.Dir, s, io.Discard); err != nil {
			return err
		}
		s.Processes = nil
		if err := os.RemoveAll(s.Result.Logs); err != nil {
			return err
		}
	}
}

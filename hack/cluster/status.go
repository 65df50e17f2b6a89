// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// Report is the state of a cluster.
type Report struct {
	Result    state.Result          `json:"cluster"`
	Processes []state.ProcessReport `json:"processes"`
	// Problem is empty if the cluster is usable.
	Problem string `json:"problem,omitempty"`
}

// Err returns the report's problem as an error, or nil.
func (r *Report) Err() error {
	if r.Problem == "" {
		return nil
	}
	return errors.New(r.Problem)
}

// Inspect returns the state of a directory's cluster. A missing cluster is an error; a broken one is the report's
// problem.
func Inspect(ctx context.Context, dir string) (*Report, error) {
	s, err := state.Load(dir)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("no cluster in %s: start one with cluster up --dir %s", dir, dir)
	}
	processes, err := s.Reports()
	if err != nil {
		return nil, err
	}
	report := &Report{Result: s.Result, Processes: processes}
	for _, p := range report.Processes {
		if !p.Running {
			report.Problem = fmt.Sprintf("%s no longer runs; the end of its log %s:\n%s", p.Name, p.Log, process.LogTail(p.Log))
			return report, nil
		}
	}
	if !s.Ready {
		report.Problem = "the cluster is being started, or its start was interrupted: run cluster up again"
		return report, nil
	}
	api, err := apiclient.FromKubeconfig(s.Result.Kubeconfig)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := api.Get(ctx, "/readyz", nil); err != nil {
		report.Problem = fmt.Sprintf("the API server is not ready: %v; logs are in %s", err, s.Result.Logs)
	}
	return report, nil
}

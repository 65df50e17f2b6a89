// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/firstrollout"
	"github.com/llamastack/llama-stack-k8s-operator/internal/status"
)

// begins notes what a new custom resource refers to, before that is read.
func (r *Reconciler) begins(ctx context.Context, s *scope) {
	if len(s.problems) == 0 {
		s.versions = r.first.Begin(ctx, s.cr)
	}
}

// reuse takes what was built before the first rollout, where nothing has changed since but the status of the Deployment and of pods.
func (r *Reconciler) reuse(ctx context.Context, s *scope) bool {
	if len(s.problems) > 0 {
		r.first.Forget(s.key)
		return false
	}
	built, again := r.first.Recall(ctx, s.cr)
	if built == nil {
		return false
	}
	s.gathered, s.desired, s.problems, s.applied, s.again = built.Gathered, built.Desired, built.Warnings, &apply.Result{}, again
	return true
}

// remember keeps what was built where this reconcile created all of it, and forgets it when the server runs.
func (r *Reconciler) remember(s *scope) {
	switch {
	case s.problems.HasErrors() || status.RolledOut(s.deployment) && !s.serverPending:
		r.first.Forget(s.key)
	case s.versions == nil || s.gathered.Inputs.Live != nil || s.large || len(s.desired.Held) > 0 || s.again > 0 || s.desired.Expose.Enabled ||
		len(s.gathered.Inputs.Endpoints) > 0 ||
		s.applied == nil || s.applied.Deployment == nil || s.applied.Written != len(s.desired.Objects):
	default:
		r.first.Keep(s.cr, s.versions, &firstrollout.Built{
			Gathered: s.gathered, Desired: s.desired, Warnings: s.problems, Deployment: s.applied.Deployment,
		})
	}
}

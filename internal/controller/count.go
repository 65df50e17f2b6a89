// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
)

// count notes for the metrics what is reported of the custom resource, and whether its pods get a new template.
func (r *Reconciler) count(s *scope) {
	line := metrics.Unknown
	if resolved := s.cr.Status.ResolvedDistribution; resolved != nil {
		line = resolved.ServerLine
	}
	r.metrics.Report(s.key, string(s.cr.Status.Phase), line, s.problems)
	if s.applied == nil || s.applied.Deployment == nil {
		return
	}
	live := s.gathered.Inputs.Live
	if live == nil || !equality.Semantic.DeepEqual(live.Spec.Template, s.applied.Deployment.Spec.Template) {
		r.metrics.Rollout()
	}
}

// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// setRelease09 sets the conditions of release 0.9, for programs that read them.
func setRelease09(f *Facts, s *Status) {
	done, _, message := rollout(f.Deployment, podReason(f))
	list, absent := release09.Conditions(&release09.Observed{
		Resource: f.CR.Name, Unknown: f.DeploymentUnknown,
		NotApplied: f.Deployment == nil && f.Problems.HasErrors(), Reason: notApplied(f),
		Complete: done, Failed: IsStuck(f.Deployment), Rollout: message,
		Available: isAvailable(f), Started: f.Deployment != nil && ptr.Deref(f.Deployment.Spec.Replicas, 1) > 0,
		WantsPVC: f.CR.Spec.Workload != nil && f.CR.Spec.Workload.Storage != nil, PVC: f.PVC,
		Service: f.ServiceExists,
	})
	for _, c := range list {
		set(f, s, c.Type, c.Status, c.Reason, c.Message)
	}
	for _, kind := range absent {
		meta.RemoveStatusCondition(&s.Conditions, kind)
	}
}

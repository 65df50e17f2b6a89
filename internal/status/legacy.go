// SPDX-License-Identifier: Apache-2.0

package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// The conditions of release 0.9 are kept up for programs that look at them. They say nothing that was not observed.

func setDeploymentReady(f *Facts, s *statusOf) {
	const kind = v1alpha2.ConditionDeploymentReady
	if f.DeploymentUnknown {
		return
	}
	done, _, message := rollout(f.Deployment)
	switch {
	case f.Deployment == nil && f.Problems.HasErrors():
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentPending, notApplied(f))
	case isStuck(f.Deployment):
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentFailed, message)
	case done:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonLegacyDeploymentReady, message)
	default:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentPending, message)
	}
}

func setHealthCheck(f *Facts, s *statusOf) {
	const kind = v1alpha2.ConditionHealthCheck
	switch d := f.Deployment; {
	case f.DeploymentUnknown:
	case isAvailable(f):
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonLegacyHealthPassed, "The health check of the server passes")
	case d == nil || ptr.Deref(d.Spec.Replicas, 1) == 0 || !isStuck(d):
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentPending, "No server answers yet")
	default:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyHealthFailed, "No server passes the health check")
	}
}

func setStorageReady(f *Facts, s *statusOf) {
	const kind = v1alpha2.ConditionStorageReady
	switch w := f.CR.Spec.Workload; {
	case w == nil || w.Storage == nil:
		meta.RemoveStatusCondition(&s.Conditions, kind)
	case f.Claim != nil && f.Claim.Status.Phase == corev1.ClaimBound:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonLegacyStorageReady, "The PVC "+f.Claim.Name+" is bound")
	default:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyStoragePending, "The PVC "+objects.PVCName(f.CR.Name)+" is not bound yet")
	}
}

func setServiceReady(f *Facts, s *statusOf) {
	const kind = v1alpha2.ConditionServiceReady
	if f.ServiceThere {
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonLegacyServiceReady, "The Service "+objects.ServiceName(f.CR.Name)+" is there")
		return
	}
	set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonLegacyServicePending, "There is no Service yet")
}

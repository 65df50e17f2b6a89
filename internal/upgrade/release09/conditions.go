// SPDX-License-Identifier: Apache-2.0

package release09

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Observed is the state that the conditions of release 0.9 report.
type Observed struct {
	// Resource is the name of the custom resource.
	Resource string
	// Unknown reports that the Deployment could not be read.
	Unknown bool
	// NotApplied reports that the Deployment does not exist because of Why.
	NotApplied bool
	Reason     string
	// Complete reports that all pods are up to date, Failed that the rollout failed; Rollout is the message.
	Complete, Failed bool
	Rollout          string
	// Available reports that a pod is available, Started that pods are desired.
	Available, Started bool
	// WantsPVC reports that a PVC is desired; PVC is nil if it does not exist.
	WantsPVC bool
	PVC      *corev1.PersistentVolumeClaim
	// Service reports that the Service exists.
	Service bool
}

// Conditions returns the conditions of release 0.9, without times, and the types that do not apply. Conditions of
// unknown state are left out of both.
func Conditions(o *Observed) (list []metav1.Condition, absent []string) {
	add := func(kind string, status bool, reason, message string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
		if status {
			c.Status = metav1.ConditionTrue
		}
		list = append(list, c)
	}
	if !o.Unknown {
		o.deployment(add)
		o.health(add)
	}
	switch {
	case !o.WantsPVC:
		absent = append(absent, v1alpha2.ConditionStorageReady)
	case o.PVC != nil && o.PVC.Status.Phase == corev1.ClaimBound:
		add(v1alpha2.ConditionStorageReady, true, v1alpha2.ReasonLegacyStorageReady, "The PVC "+o.PVC.Name+" is bound")
	default:
		add(v1alpha2.ConditionStorageReady, false, v1alpha2.ReasonLegacyStoragePending,
			"The PVC "+names.PVCName(o.Resource)+" is not bound yet")
	}
	if o.Service {
		add(v1alpha2.ConditionServiceReady, true, v1alpha2.ReasonLegacyServiceReady,
			"The Service "+names.ServiceName(o.Resource)+" exists")
	} else {
		add(v1alpha2.ConditionServiceReady, false, v1alpha2.ReasonLegacyServicePending, "The Service does not exist yet")
	}
	return list, absent
}

func (o *Observed) deployment(add func(kind string, status bool, reason, message string)) {
	const kind = v1alpha2.ConditionDeploymentReady
	switch {
	case o.NotApplied:
		add(kind, false, v1alpha2.ReasonLegacyDeploymentPending, o.Reason)
	case o.Failed:
		add(kind, false, v1alpha2.ReasonLegacyDeploymentFailed, o.Rollout)
	case o.Complete:
		add(kind, true, v1alpha2.ReasonLegacyDeploymentReady, o.Rollout)
	default:
		add(kind, false, v1alpha2.ReasonLegacyDeploymentPending, o.Rollout)
	}
}

func (o *Observed) health(add func(kind string, status bool, reason, message string)) {
	const kind = v1alpha2.ConditionHealthCheck
	switch {
	case o.Available:
		add(kind, true, v1alpha2.ReasonLegacyHealthPassed, "The health check of the server passes")
	case o.Failed && o.Started:
		add(kind, false, v1alpha2.ReasonLegacyHealthFailed, "No server passes the health check")
	default:
		add(kind, false, v1alpha2.ReasonLegacyDeploymentPending, "No server responds yet")
	}
}

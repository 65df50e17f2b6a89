// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// RolledOut reports whether all pods have the Deployment's current template, and some are available.
func RolledOut(d *appsv1.Deployment) bool {
	done, _, _ := rollout(d, "")
	return done && d.Status.AvailableReplicas > 0
}

// rollout reports whether all pods have the current template, else the reason; why is a pod's own reason, or "".
func rollout(d *appsv1.Deployment, podReason string) (done bool, reason, message string) {
	if d == nil {
		return false, v1alpha2.ReasonRolloutInProgress, "The Deployment is being created"
	}
	desired, observed := ptr.Deref(d.Spec.Replicas, 1), d.Status
	switch {
	case observed.ObservedGeneration < d.Generation:
		return false, v1alpha2.ReasonRolloutInProgress, "The Deployment is being updated"
	case IsStuck(d):
		return false, v1alpha2.ReasonRolloutStuck, withReason(limits.Message(deploymentCondition(d,
			appsv1.DeploymentProgressing).Message), podReason)
	case release09.IsHeld(d):
		return false, v1alpha2.ReasonRolloutInProgress, "Pods of release 0.9 serve until all new pods are ready"
	case observed.Replicas > observed.UpdatedReplicas:
		return false, v1alpha2.ReasonRolloutInProgress, replacing(d, podReason)
	case observed.UpdatedReplicas < desired:
		return false, v1alpha2.ReasonRolloutInProgress, withReason(fmt.Sprintf("%d of %d pods are up to date",
			observed.UpdatedReplicas, desired), podReason)
	case observed.AvailableReplicas < observed.UpdatedReplicas && podReason != "":
		return false, v1alpha2.ReasonRolloutInProgress, withReason(fmt.Sprintf(
			"%d of %d up-to-date pods are available", observed.AvailableReplicas, observed.UpdatedReplicas), podReason)
	case observed.AvailableReplicas < observed.UpdatedReplicas:
		// During provisioning of a volume only the PVC's events have errors, not the pod's conditions.
		return false, v1alpha2.ReasonRolloutInProgress, fmt.Sprintf(
			"%d of %d up-to-date pods are available; if this takes long: kubectl -n %s describe pods,pvc -l %s",
			observed.AvailableReplicas, observed.UpdatedReplicas, d.Namespace, metav1.FormatLabelSelector(d.Spec.Selector))
	}
	return true, v1alpha2.ReasonDeploymentUpdated, "All pods are up to date"
}

// DeploymentDiffers reports whether two versions of a Deployment differ in fields that Compute reads.
func DeploymentDiffers(a, b *appsv1.Deployment) bool {
	return !equality.Semantic.DeepEqual(reported(a), reported(b))
}

func reported(d *appsv1.Deployment) *appsv1.Deployment {
	r := &appsv1.Deployment{ObjectMeta: *d.ObjectMeta.DeepCopy(), Status: appsv1.DeploymentStatus{
		ObservedGeneration: d.Status.ObservedGeneration, Replicas: d.Status.Replicas,
		UpdatedReplicas:   d.Status.UpdatedReplicas,
		AvailableReplicas: d.Status.AvailableReplicas,
	}}
	r.ResourceVersion, r.ManagedFields = "", nil
	for _, c := range d.Status.Conditions {
		kept := appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason}
		if IsStuck(d) || c.Type == appsv1.DeploymentReplicaFailure {
			kept.Message = c.Message
		}
		r.Status.Conditions = append(r.Status.Conditions, kept)
	}
	return r
}

// replacing reports the progress of a rollout, in which an unavailable pod is always a new one.
func replacing(d *appsv1.Deployment, podReason string) string {
	observed := d.Status
	notReady := min(observed.Replicas-observed.AvailableReplicas, observed.UpdatedReplicas)
	serving := min(observed.Replicas-observed.UpdatedReplicas, observed.AvailableReplicas)
	text := withReason(fmt.Sprintf("%d of %d pods are up to date", observed.UpdatedReplicas,
		ptr.Deref(d.Spec.Replicas, 1)), podReason)
	if notReady > 0 {
		text = withReason(count(notReady, "new pod is", "new pods are")+" not ready", podReason)
	}
	if serving > 0 {
		text += "; " + count(serving, "old pod still serves", "old pods still serve")
	}
	return text
}

// RefusedRemedy says what to do if the API server refuses the pods of a Deployment.
const RefusedRemedy = "change what the pod requests, or the quota or policy that refuses it"

// podReason returns the reason of the newest unready pod, or of the API server for refusing pods, or "".
func podReason(f *Facts) string { return reasonOf(&f.Pods, f.Deployment) }

func reasonOf(observed *pods.Observation, d *appsv1.Deployment) string {
	if why := observed.Explain(); why != "" || d == nil {
		return why
	}
	refused := deploymentCondition(d, appsv1.DeploymentReplicaFailure)
	if refused.Status != corev1.ConditionTrue {
		return ""
	}
	return "no pod can be created: " + limits.Message(refusedPod.ReplaceAllString(refused.Message, "")) +
		pods.RemedyMark + RefusedRemedy
}

// WasComplete reports whether the pods of a Deployment's current ReplicaSet were available once. Kubernetes keeps this
// condition until the next rollout.
func WasComplete(d *appsv1.Deployment, replicaSet string) bool {
	c := deploymentCondition(d, appsv1.DeploymentProgressing)
	return c.Reason == "NewReplicaSetAvailable" && strings.Contains(c.Message, `"`+replicaSet+`"`)
}

// RefusedSince returns since when the API server refuses the pods of a Deployment, or zero.
func RefusedSince(d *appsv1.Deployment) time.Time {
	refused := deploymentCondition(d, appsv1.DeploymentReplicaFailure)
	if refused.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return refused.LastTransitionTime.Time
}

// RollbackCause returns why the pods of a Deployment do not start, for an annotation.
func RollbackCause(observed *pods.Observation, d *appsv1.Deployment) string {
	return cmp.Or(observed.ExplainReplaced(), reasonOf(observed, d),
		"the volumes or the network of the pod could not be set up")
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + ": " + reason
}

func deploymentCondition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

// IsStuck reports whether the pods of a Deployment did not become available before its deadline.
func IsStuck(d *appsv1.Deployment) bool {
	return d != nil && deploymentCondition(d, appsv1.DeploymentProgressing).Reason == "ProgressDeadlineExceeded"
}

// isPaused reports whether a Deployment with an autoscaler is scaled to zero, which pauses autoscaling in Kubernetes.
func isPaused(f *Facts) bool {
	return f.isApplied() && f.Deployment != nil && ptr.Deref(f.Deployment.Spec.Replicas, 1) == 0 &&
		objects.Autoscaling(&f.CR.Spec) != nil
}

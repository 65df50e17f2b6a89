// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

type object struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	State string `json:"state"`
	// Why explains why it is not ready; may be empty.
	Why string `json:"why,omitempty"`
}

func (f *facts) objects() []object {
	var list []object
	for _, o := range f.owned {
		d := describeObject(o)
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && claim.Status.Phase == corev1.ClaimPending {
			d.Why = f.pendingReason(claim)
		}
		list = append(list, d)
	}
	for i := range f.pods {
		p := &f.pods[i]
		list = append(list, object{
			Kind: "Pod", Name: p.Name, State: podState(p), Why: pods.Observe(f.pods[i:i+1], f.container(), nil).NotReady,
		})
	}
	return list
}

// pendingReason returns the last Event of a PVC, preferring Warnings, because a pending PVC has no condition.
func (f *facts) pendingReason(claim *corev1.PersistentVolumeClaim) string {
	var last, lastWarning event
	for i := range f.events {
		e := &f.events[i]
		if e.InvolvedObject.UID != claim.UID { // a former PVC of the same name
			continue
		}
		next := newEvent(e)
		if !next.Last.Before(last.Last) {
			last = next
		}
		if e.Type == corev1.EventTypeWarning && !next.Last.Before(lastWarning.Last) {
			lastWarning = next
		}
	}
	if lastWarning.Reason != "" {
		last = lastWarning
	}
	if last.Reason == "" {
		return ""
	}
	return last.Reason + ": " + last.Message
}

func podState(p *corev1.Pod) string {
	ready, restarts := 0, int32(0)
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Ready {
			ready++
		}
		restarts += p.Status.ContainerStatuses[i].RestartCount
	}
	state := string(p.Status.Phase)
	switch {
	case p.DeletionTimestamp != nil:
		state = "Terminating"
	case ready > 0 && ready == len(p.Status.ContainerStatuses):
		state = "Ready"
	}
	if restarts > 0 {
		state += fmt.Sprintf(", %d restarts", restarts)
	}
	return state
}

func describeObject(o client.Object) object {
	d := object{Name: o.GetName()}
	switch o := o.(type) {
	case *appsv1.Deployment:
		d.Kind = "Deployment"
		d.State = fmt.Sprintf("%d of %d available, %d up to date", o.Status.AvailableReplicas, ptr.Deref(o.Spec.Replicas, 1),
			o.Status.UpdatedReplicas)
		for _, c := range o.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				d.Why = c.Reason + ": " + c.Message
			}
		}
	case *corev1.Service:
		d.Kind, d.State = "Service", string(o.Spec.Type)
		for _, port := range o.Spec.Ports {
			d.State += fmt.Sprintf(" port %d", port.Port)
		}
	case *corev1.PersistentVolumeClaim:
		d.Kind, d.State = "PersistentVolumeClaim", string(o.Status.Phase)
		if size := o.Status.Capacity.Storage(); !size.IsZero() {
			d.State += " " + size.String()
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		d.Kind = "HorizontalPodAutoscaler"
		d.State = fmt.Sprintf("%d pods, between %d and %d", o.Status.CurrentReplicas, ptr.Deref(o.Spec.MinReplicas, 1),
			o.Spec.MaxReplicas)
		for _, c := range o.Status.Conditions {
			if c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse {
				d.Why = c.Reason + ": " + c.Message
			}
		}
	case *policyv1.PodDisruptionBudget:
		d.Kind, d.State = "PodDisruptionBudget", fmt.Sprintf("%d disruptions allowed", o.Status.DisruptionsAllowed)
	case *networkingv1.NetworkPolicy:
		d.Kind, d.State = "NetworkPolicy", "exists"
	case *networkingv1.Ingress:
		d.Kind, d.State = "Ingress", "exists"
		var hosts []string
		for _, rule := range o.Spec.Rules {
			hosts = append(hosts, rule.Host)
		}
		if len(hosts) > 0 {
			d.State = strings.Join(hosts, ", ")
		}
	}
	return d
}

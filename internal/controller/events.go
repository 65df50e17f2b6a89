// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// emit makes Events of the conditions that changed: on the edge, after the status was written. Conditions that only repeat what
// others say get none. The configuration's condition also shows the warnings, if there are any.
func (r *Reconciler) emit(cr *v1alpha2.LlamaStackDistribution, before []metav1.Condition, warned bool) {
	for i := range cr.Status.Conditions {
		c := &cr.Status.Conditions[i]
		last := meta.FindStatusCondition(before, c.Type)
		warns := warned && c.Type == v1alpha2.ConditionConfigGenerated && c.Status == metav1.ConditionTrue
		if last != nil && last.Status == c.Status && last.Reason == c.Reason && (!warns || last.Message == c.Message) {
			continue
		}
		if c.Type == v1alpha2.ConditionReady || c.Type == v1alpha2.ConditionStalled || c.Reason == v1alpha2.ReasonNotApplied ||
			slices.Contains(v1alpha2.LegacyConditions(), c.Type) {
			continue
		}
		kind := eventType(c, last)
		if warns {
			kind = corev1.EventTypeWarning
		}
		r.recorder.Eventf(cr, nil, kind, c.Reason, c.Type, "%s", bounds.Message(c.Message)) // the API takes no longer one
	}
}

// eventType is Warning for what is wrong. A server that is not available yet is on its way; one that was is not.
func eventType(c, last *metav1.Condition) string {
	wasTrue := last != nil && last.Status == metav1.ConditionTrue
	switch {
	case c.Status == metav1.ConditionTrue,
		c.Reason == v1alpha2.ReasonRolloutInProgress,
		c.Reason == v1alpha2.ReasonNotDeployed,
		c.Reason == v1alpha2.ReasonScaledToZero,
		c.Reason == v1alpha2.ReasonAutoscalingPaused,
		c.Reason == v1alpha2.ReasonServerUnavailable && !wasTrue:
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

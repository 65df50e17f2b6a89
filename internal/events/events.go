// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// Event is what an Event of the API says.
type Event struct {
	// Type is Normal or Warning.
	Type string
	// Reason and Action are the reason and the type of the condition.
	Reason, Action string
	// Note is its message, cut to what the API takes.
	Note string
}

// Of returns the Events for conditions that changed: on the edge alone. Conditions that only repeat what others say get none. The
// configuration's condition also shows the warnings, if there are any.
func Of(before, after []metav1.Condition, warned bool) []Event {
	var list []Event
	for i := range after {
		c := &after[i]
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
		list = append(list, Event{Type: kind, Reason: c.Reason, Action: c.Type, Note: bounds.Message(c.Message)})
	}
	return list
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

// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Event is the content of an Event of the API.
type Event struct {
	Type string
	// Reason and Action are the reason and the type of the condition.
	Reason, Action string
	// Note is its message, cut to the API's limit.
	Note string
}

// ForChanges returns the Events for changed conditions: a Warning for each problem and for new warnings, and Normal for
// the start of a rollout and for becoming ready.
func ForChanges(before, after []metav1.Condition, warned bool) []Event {
	var list []Event
	ready := becameReady(before, after)
	for i := range after {
		c := &after[i]
		last := meta.FindStatusCondition(before, c.Type)
		warns := warned && c.Type == v1alpha2.ConditionConfigGenerated && c.Status == metav1.ConditionTrue
		if last != nil && last.Status == c.Status && last.Reason == c.Reason && (!warns || last.Message == c.Message) {
			continue
		}
		kind := eventType(c, last)
		if warns {
			kind = corev1.EventTypeWarning
		}
		known := c.Status != metav1.ConditionUnknown ||
			c.Type != v1alpha2.ConditionAccessControlled && c.Type != v1alpha2.ConditionStorageReachable
		informational := c.Type == v1alpha2.ConditionBackendsReachable || !known
		if informational || isRepeated(c, ready) || kind == corev1.EventTypeNormal && !isStep(c, ready) {
			continue
		}
		list = append(list, Event{Type: kind, Reason: c.Reason, Action: c.Type, Note: limits.Message(c.Message)})
	}
	return list
}

func becameReady(before, after []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(after, v1alpha2.ConditionReady) &&
		!meta.IsStatusConditionTrue(before, v1alpha2.ConditionReady)
}

// isRepeated reports whether a condition only repeats another one.
func isRepeated(c *metav1.Condition, ready bool) bool {
	return c.Type == v1alpha2.ConditionReady && !ready || c.Type == v1alpha2.ConditionStalled ||
		c.Reason == v1alpha2.ReasonNotApplied ||
		slices.Contains(v1alpha2.LegacyConditions(), c.Type)
}

// isStep reports whether a condition without problem is a step that users wait for.
func isStep(c *metav1.Condition, ready bool) bool {
	switch c.Type {
	case v1alpha2.ConditionReady:
		return true
	case v1alpha2.ConditionDeploymentUpdated:
		return c.Status != metav1.ConditionTrue || !ready
	case v1alpha2.ConditionAvailable:
		return c.Status == metav1.ConditionTrue && !ready || c.Reason == v1alpha2.ReasonScaledToZero ||
			c.Reason == v1alpha2.ReasonAutoscalingPaused
	}
	return false
}

// eventType returns Warning for a problem. An unavailable server is a problem only if it was available before.
func eventType(c, last *metav1.Condition) string {
	normal := c.Status == metav1.ConditionTrue
	switch c.Reason {
	case v1alpha2.ReasonRolloutInProgress, v1alpha2.ReasonSecretChanged, v1alpha2.ReasonConfigMapChanged,
		v1alpha2.ReasonNotDeployed, v1alpha2.ReasonScaledToZero, v1alpha2.ReasonAutoscalingPaused:
		normal = true
	case v1alpha2.ReasonServerUnavailable:
		normal = last == nil || last.Status != metav1.ConditionTrue
	}
	if normal {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

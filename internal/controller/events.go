// SPDX-License-Identifier: Apache-2.0

package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// maxNote bounds the text of an event, in bytes, as the API does.
const maxNote = 1024

// emit tells by events which conditions changed: on the edge, after the status was written. Ready and Stalled repeat what
// others say and get none.
func (r *Reconciler) emit(cr *v1alpha2.LlamaStackDistribution, before []metav1.Condition) {
	for i := range cr.Status.Conditions {
		c := &cr.Status.Conditions[i]
		last := meta.FindStatusCondition(before, c.Type)
		if c.Type == v1alpha2.ConditionReady || c.Type == v1alpha2.ConditionStalled ||
			(last != nil && last.Status == c.Status && last.Reason == c.Reason) {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue && !expected[c.Reason] {
			kind = corev1.EventTypeWarning
		}
		note := c.Message
		if len(note) > maxNote {
			note = note[:maxNote-4] + " ..."
		}
		r.recorder.Eventf(cr, nil, kind, c.Reason, c.Type, "%s", note)
	}
}

// expected are reasons of a condition that is not True although all goes well.
var expected = map[string]bool{
	v1alpha2.ReasonRolloutInProgress: true,
	v1alpha2.ReasonNotDeployed:       true,
	v1alpha2.ReasonScaledToZero:      true,
	v1alpha2.ReasonServerUnavailable: true,
}

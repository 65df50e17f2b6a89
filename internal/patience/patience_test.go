// SPDX-License-Identifier: Apache-2.0

package patience

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: R69, L-03 (a change that a next one is about to replace is held back, and not for longer than a moment after the first of them).
func TestChangesAreHeldBackForAMoment(t *testing.T) {
	p := &Patience{}
	began := time.Now()
	key := types.NamespacedName{Namespace: "ns", Name: "a"}
	for _, step := range []struct {
		after time.Duration
		hold  time.Duration
		want  time.Duration
	}{
		{0, 2 * time.Second, 2 * time.Second},
		{time.Second, 2 * time.Second, time.Second},
		{1500 * time.Millisecond, 0, 0}, // something that users wait for
		{1600 * time.Millisecond, 2 * time.Second, 2 * time.Second},
		{1700 * time.Millisecond, 0, 0}, // there is none any more
		{1800 * time.Millisecond, 2 * time.Second, 2 * time.Second},
		{3800 * time.Millisecond, 2 * time.Second, 0},
		{3900 * time.Millisecond, 2 * time.Second, 2 * time.Second},
	} {
		if got := p.Remaining(key, step.hold, began.Add(step.after)); got != step.want {
			t.Errorf("after %s: %s, want %s", step.after, got, step.want)
		}
	}
	p.Forget(key)
	if len(p.since) > 0 {
		t.Errorf("remembered are %v", p.since)
	}
}

// Proves: R69 (what is held back is the progress of a rollout, and what the server is about to answer; never what is wrong).
func TestOnlyProgressIsHeldBack(t *testing.T) {
	before := v1alpha2.LlamaStackDistributionStatus{Phase: v1alpha2.PhaseInitializing, Conditions: []metav1.Condition{
		{Type: v1alpha2.ConditionAvailable, Status: metav1.ConditionFalse, Reason: "ServerUnavailable", Message: "0 of 2"},
	}}
	with := func(change func(*v1alpha2.LlamaStackDistributionStatus)) v1alpha2.LlamaStackDistributionStatus {
		after := *before.DeepCopy()
		change(&after)
		return after
	}
	numbers := with(func(s *v1alpha2.LlamaStackDistributionStatus) { s.Replicas, s.AvailableReplicas = 2, 1 })
	for name, c := range map[string]struct {
		after   v1alpha2.LlamaStackDistributionStatus
		wrong   bool
		pending bool
		want    time.Duration
	}{
		"numbers":            {after: numbers, want: progressPatience},
		"a message":          {after: with(func(s *v1alpha2.LlamaStackDistributionStatus) { s.Conditions[0].Message = "1 of 2" }), want: progressPatience},
		"a reason":           {after: with(func(s *v1alpha2.LlamaStackDistributionStatus) { s.Conditions[0].Reason = "CrashLoopBackOff" })},
		"the phase":          {after: with(func(s *v1alpha2.LlamaStackDistributionStatus) { s.Phase = v1alpha2.PhaseReady })},
		"ready, not asked":   {after: with(func(s *v1alpha2.LlamaStackDistributionStatus) { s.Phase = v1alpha2.PhaseReady }), pending: true, want: answerPatience},
		"something is wrong": {after: numbers, wrong: true},
	} {
		change := &Change{HasErrors: c.wrong, AnswerPending: c.pending, Before: &before, After: &c.after}
		if got := (&Patience{}).Hold(change); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

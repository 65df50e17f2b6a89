// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Proves: R104 (a server that no pod may call is Ready with a reason of its own, which stays while nothing is known).
func TestServerWithoutCallersIsReadyWithAWarning(t *testing.T) {
	const missing = "The spec is applied; warning: no pod in the namespace gateway matches spec.networking.allowedFrom.pods"
	const alone = ": nobody but the operator can reach the server"
	exclusive := v1alpha2.AllowedFromSpec{Namespaces: []string{"gateway"}, Exclusive: new(true)}
	last := ""
	for _, c := range []struct {
		callers      status.Callers
		allowed      v1alpha2.AllowedFromSpec
		expose       string
		reason, text string
	}{
		{status.CallersUnknown, exclusive, "false", v1alpha2.ReasonReady, status.SpecApplied},
		{status.CallersMissing, exclusive, "true", v1alpha2.ReasonNoCallers, missing + alone},
		{status.CallersUnknown, exclusive, "true", v1alpha2.ReasonNoCallers, missing + alone},
		{status.CallersFound, exclusive, "true", v1alpha2.ReasonReady, status.SpecApplied},
		{
			status.CallersMissing, v1alpha2.AllowedFromSpec{Namespaces: []string{"a"}}, "true", v1alpha2.ReasonNoCallers,
			"The spec is applied; warning: no pod in the namespaces a, mine matches spec.networking.allowedFrom.pods",
		},
		{
			status.CallersMissing, v1alpha2.AllowedFromSpec{Labels: []string{"a"}}, "false", v1alpha2.ReasonNoCallers,
			"The spec is applied; warning: no pod in any namespace matches spec.networking.allowedFrom.pods" + alone,
		},
	} {
		f := serving(t, resource())
		f.CR.Namespace = "mine"
		meta.SetStatusCondition(&f.CR.Status.Conditions, metav1.Condition{Type: v1alpha2.ConditionReady, Status: metav1.ConditionTrue, Reason: last})
		c.allowed.Pods = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "gateway"}}
		f.CR.Spec.Networking = &v1alpha2.NetworkingSpec{AllowedFrom: &c.allowed, Expose: open(c.expose)}
		f.Desired.Expose = parse.Parse(&f.CR.Spec).Expose
		f.Callers = c.callers
		s := compute(t, f)
		ready := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionReady)
		if ready.Status != metav1.ConditionTrue || ready.Reason != c.reason || ready.Message != c.text {
			t.Errorf("%v: %s %s: %q, want %s: %q", c.callers, ready.Status, ready.Reason, ready.Message, c.reason, c.text)
		}
		last = ready.Reason
	}
}

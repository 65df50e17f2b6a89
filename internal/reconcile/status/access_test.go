// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

// Proves: R83 (the condition is about calls without credentials; Ready keeps its status, with a warning).
func TestAccessControlledReportsServerBehavior(t *testing.T) {
	hidden := serverprobe.List{Hidden: true, Error: "GET /v1/x: the server requires credentials"}
	refuses := func(f *status.Facts) {
		f.Server.ProvidersHidden, f.Server.Providers, f.Server.Models = true, nil, hidden
		f.Server.Lists = map[string]serverprobe.List{serverconfig.ListConnectors: hidden}
	}
	for name, c := range map[string]struct {
		edit   func(*status.Facts)
		status metav1.ConditionStatus // empty: absent
		reason string
		text   string
	}{
		"it refuses":      {refuses, metav1.ConditionTrue, v1alpha2.ReasonCredentialsRequired, "authentication custom"},
		"it answers":      {func(*status.Facts) {}, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone, "lists its providers and models to callers without credentials"},
		"with one list":   {func(f *status.Facts) { refuses(f); f.Server.Lists[serverconfig.ListConnectors] = serverprobe.List{} }, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone, "lists its connectors to"},
		"its models":      {func(f *status.Facts) { refuses(f); f.Server.Models = serverprobe.List{} }, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone, "lists its models to"},
		"silent":          {func(f *status.Facts) { f.Server, f.ServerFailure = nil, "GET /v1/version: no response in time" }, metav1.ConditionUnknown, v1alpha2.ReasonAccessUnknown, "no response in time"},
		"not asked yet":   {func(f *status.Facts) { f.Server = nil }, metav1.ConditionTrue, "Before", "as it was"},
		"not available":   {func(f *status.Facts) { f.Deployment = deployment(0, 1) }, "", "", ""},
		"without auth":    {func(f *status.Facts) { f.Desired.Config.Auth = serverconfig.Auth{} }, "", "", ""},
		"a rejected edit": {func(f *status.Facts) { f.Problems = append(f.Problems, terminalProblem("no")) }, metav1.ConditionTrue, "Before", "as it was"},
		"of the user's own": {func(f *status.Facts) {
			f.Desired.Override = &serverconfig.Override{Auth: serverconfig.Auth{Type: "custom"}}
		}, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone, "custom"},
	} {
		t.Run(name, func(t *testing.T) {
			cr := resource()
			cr.Status.Conditions = []metav1.Condition{{
				Type: v1alpha2.ConditionAccessControlled, Status: metav1.ConditionTrue, Reason: "Before", Message: "as it was",
				LastTransitionTime: metav1.Now().Rfc3339Copy(),
			}}
			f := serving(t, cr)
			f.Desired.Config.Auth.Type = "custom"
			c.edit(f)
			s := compute(t, f)
			got := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionAccessControlled)
			if c.status == "" {
				if got != nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if got == nil || got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.text) {
				t.Errorf("%+v, want %s %s %q", got, c.status, c.reason, c.text)
			}
			warned := strings.Contains(condition(t, &s, v1alpha2.ConditionReady).Message, "warning: callers need no credentials: see AccessControlled")
			if open := c.status == metav1.ConditionFalse; warned != open {
				t.Errorf("Ready warns: %v", warned)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

// Proves: R82, R35 (model names are reported without effect on Ready; a registered model proves nothing).
func TestBackendsReachableReportsListedProviders(t *testing.T) {
	model := func(provider, name string) serverprobe.Entry {
		return serverprobe.Entry{Provider: provider, Name: name}
	}
	for name, c := range map[string]struct {
		edit   func(*status.Facts)
		status metav1.ConditionStatus // empty: absent
		reason string
		text   string
	}{
		"no models": {func(f *status.Facts) { f.Server.Models.Entries = nil }, metav1.ConditionFalse, v1alpha2.ReasonNoModelsListed, "lists no models of the providers vllm"},
		"models of others only": {
			func(f *status.Facts) { f.Server.Models.Entries = []serverprobe.Entry{model("openai", "openai/x")} }, metav1.ConditionFalse, v1alpha2.ReasonNoModelsListed, "vllm",
		},
		"no more than are registered": {
			func(f *status.Facts) {
				f.Server.Models.Entries = []serverprobe.Entry{model("vllm", "vllm/a")}
				f.Desired.Config.ModelCount = 1
			},
			metav1.ConditionUnknown, v1alpha2.ReasonOnlyRegisteredModels, "lists 1 model of the providers vllm: vllm/a; registered models are listed even",
		},
		"more": {
			func(f *status.Facts) {
				f.Server.Models.Entries, f.Desired.Config.ModelCount = []serverprobe.Entry{model("vllm", "vllm/a"), model("vllm", "vllm/b")}, 1
			}, metav1.ConditionTrue, v1alpha2.ReasonModelsListed, "lists 2 models of the providers vllm: vllm/a, vllm/b",
		},
		"not asked": {
			func(f *status.Facts) { f.Server.Models.Error = "GET /v1/models: the server requires credentials" },
			metav1.ConditionUnknown, v1alpha2.ReasonModelsUnknown, "requires credentials",
		},
		"no model server":  {func(f *status.Facts) { f.Desired.Config.Providers = nil }, "", "", ""},
		"an image's own":   {func(f *status.Facts) { f.Desired.Config = nil }, "", "", ""},
		"not available":    {func(f *status.Facts) { f.Deployment = deployment(0, 1) }, "", "", ""},
		"no answer so far": {func(f *status.Facts) { f.Server = nil }, metav1.ConditionTrue, "Before", "as it was"},
	} {
		t.Run(name, func(t *testing.T) {
			cr := resource()
			cr.Status.Conditions = []metav1.Condition{{
				Type: v1alpha2.ConditionBackendsReachable, Status: metav1.ConditionTrue, Reason: "Before", Message: "as it was",
				LastTransitionTime: metav1.Now().Rfc3339Copy(),
			}}
			f := serving(t, cr)
			c.edit(f)
			s := compute(t, f)
			got := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionBackendsReachable)
			if c.status == "" {
				if got != nil {
					t.Errorf("%+v", got)
				}
				return
			}
			if got == nil || got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.text) {
				t.Errorf("%+v, want %s %s %q", got, c.status, c.reason, c.text)
			}
			if !meta.IsStatusConditionTrue(s.Conditions, v1alpha2.ConditionReady) {
				t.Error("Ready is not True")
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

// Proves: R29, R50, US-6.1 (no provider config is shown).
func TestOverride(t *testing.T) {
	f := serving(t, resource())
	f.Desired = &build.Desired{
		Override: &serverconfig.Override{Version: 2}, OverrideContent: []byte("version: 2\n"), ConfigMapName: "my-stack-config-0123456789",
	}
	s := compute(t, f)
	if c := condition(t, &s, v1alpha2.ConditionConfigGenerated); c.Status != "True" || c.Reason != v1alpha2.ReasonOverride {
		t.Errorf("ConfigGenerated %+v", c)
	}
	const message = "The configuration is that of spec.overrideConfig, "
	if c := condition(t, &s, v1alpha2.ConditionConfigGenerated); c.Message != message+"unchanged" {
		t.Errorf("ConfigGenerated %+v", c)
	}
	f.Desired.OverrideEdited = true
	edited := compute(t, f)
	if c := condition(t, &edited, v1alpha2.ConditionConfigGenerated); c.Message != message+"with the number of workers of the spec" {
		t.Errorf("ConfigGenerated %+v", c)
	}
	if r := s.ResolvedDistribution; r.ConfigSource != v1alpha2.ConfigSourceOverride || len(r.ConfigHash) != len("sha256:")+64 {
		t.Errorf("resolved %+v", r)
	}
	if g := s.ConfigGeneration; g.ConfigMapName != f.Desired.ConfigMapName || g.ConfigVersion != 2 || g.ProviderCount+g.ResourceCount != 0 {
		t.Errorf("generation %+v", g)
	}
	for _, p := range s.DistributionConfig.Providers {
		if p.Config != nil {
			t.Errorf("%s/%s shows a configuration that the operator has not made", p.API, p.ProviderID)
		}
	}
}

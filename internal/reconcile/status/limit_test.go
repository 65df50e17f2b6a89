// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func size(t *testing.T, v any) int {
	t.Helper()
	raw, err := json.Marshal(v)
	framework.NoError(t, err)
	return len(raw)
}

// addProviders adds count listed and generated providers with configs of this size.
func addProviders(f *status.Facts, count, bytes int) {
	f.Server.Providers, f.Desired.Config.Providers = nil, nil
	for i := range count {
		id := fmt.Sprintf("provider-%04d", i)
		f.Server.Providers = append(f.Server.Providers, serverprobe.Provider{API: "inference", ID: id, Type: "remote::vllm"})
		f.Desired.Config.Providers = append(f.Desired.Config.Providers, serverconfig.ProviderEntry{
			API: "inference", ID: id, Config: fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", bytes)),
		})
	}
}

// Proves: R63 (a provider's config has at most 4 KiB in the status, and a cut one names the source of the rest).
func TestStatusHoldsShortConfigs(t *testing.T) {
	f := serving(t, resource())
	addProviders(f, 2, 4<<10)
	longest := `{"url":"` + strings.Repeat("x", 4<<10-len(`{"url":""}`)) + `"}`
	f.Desired.Config.Providers[0].Config = []byte(longest)
	s := compute(t, f)
	list := s.DistributionConfig.Providers
	if len(list) != 2 || string(list[0].Config.Raw) != longest {
		t.Fatalf("providers %+v", list)
	}
	if want := fmt.Sprintf(`"omitted: 4104 bytes, see ConfigMap %s"`, f.Desired.ConfigMapName); string(list[1].Config.Raw) != want {
		t.Errorf("config %s, want %s", list[1].Config.Raw, want)
	}
}

// Proves: R63 (a status has at most 128 KiB, a cut is reported and stable, and conditions and phase are kept whole).
func TestStatusSizeIsBounded(t *testing.T) {
	long := strings.Repeat("x", 300)
	images := map[string]string{}
	for i := range 2_000 {
		images[fmt.Sprintf("distribution-%04d", i)] = "registry.example/" + long
	}
	for name, c := range map[string]struct {
		change func(*status.Facts)
		want   []string
	}{
		"configs": {func(f *status.Facts) { addProviders(f, 100, 3<<10) }, []string{`"omitted: 3080 bytes, see ConfigMap `, `"provider-0099"`, strings.Repeat("x", 3<<10)}},
		"distributions": {func(f *status.Facts) { f.Images = images }, []string{
			`"distribution-0000"`, ` more are omitted"`, `"provider_id":"vllm"`, "${env.LLSD_VLLM_API_KEY}"[1:],
		}},
		"models": {func(f *status.Facts) {
			for i := range 1_000 {
				f.Server.Models.Entries = append(f.Server.Models.Entries, serverprobe.Entry{Provider: "vllm", Name: fmt.Sprintf("vllm/%04d", i)})
			}
		}, []string{`{"name":"vllm/0000","provider_id":"vllm"}`, `{"name":"…","provider_id":"`, ` more are omitted"}`, "${env.LLSD_VLLM_API_KEY}"[1:]}},
		"providers": {func(f *status.Facts) {
			addProviders(f, 1_000, 1)
			for i := range f.Server.Providers {
				f.Server.Providers[i].Type = long
			}
		}, []string{`"provider-0000"`, `{"api":"…","provider_id":"…","provider_type":"`}},
		"messages": {func(f *status.Facts) {
			f.Problems = nil
			for _, kind := range []string{v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved, v1alpha2.ConditionDeploymentUpdated} {
				for i := range 50 {
					fault := terminalProblem(fmt.Sprintf("%d %s", i, long))
					fault.Condition = kind
					f.Problems = append(f.Problems, fault)
				}
			}
		}, []string{"… (cut)"}},
		"everything": {func(f *status.Facts) {
			addProviders(f, 1_000, 4_000)
			f.Images = images
			for i := range f.Server.Providers {
				f.Server.Providers[i].Type = long
			}
			f.Deployment.Status.Conditions[1].Reason = "ProgressDeadlineExceeded"
			f.Deployment.Status.Conditions[1].Message = strings.Repeat("quota ", 100_000)
		}, []string{"omitted"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := serving(t, resource())
			c.change(f)
			s := compute(t, f)
			raw, err := json.Marshal(s)
			framework.NoError(t, err)
			if len(raw) > 128<<10 {
				t.Errorf("%d bytes", len(raw))
			}
			for _, want := range c.want {
				if !strings.Contains(string(raw), want) {
					t.Errorf("%q is not in %.2000s", want, raw)
				}
			}
		})
	}
}

// Proves: R63.
func TestStatusOfFormerBuildsIsCut(t *testing.T) {
	cr := ready(t)
	for i := range 400 {
		cr.Status.DistributionConfig.Providers = append(cr.Status.DistributionConfig.Providers, v1alpha2.ProviderInfo{
			API: "inference", ProviderID: fmt.Sprint(i), ProviderType: strings.Repeat("x", 512), Config: open(`{"a":"` + strings.Repeat("x", 600) + `"}`),
		})
	}
	f := serving(t, cr)
	f.Server = nil
	s := compute(t, f)
	if got := size(t, s); got > 128<<10 || got < 64<<10 {
		t.Errorf("%d bytes", got)
	}
	last := s.DistributionConfig.Providers[len(s.DistributionConfig.Providers)-1]
	if !strings.HasSuffix(last.ProviderType, " more are omitted") {
		t.Errorf("the last provider is %.300s", last.ProviderType)
	}
}

// Proves: R63 (a Deployment's message is quoted up to 1 KiB).
func TestRolloutMessageIsShort(t *testing.T) {
	f := serving(t, resource())
	f.Deployment.Status.Conditions[1].Reason = "ProgressDeadlineExceeded"
	f.Deployment.Status.Conditions[1].Message = strings.Repeat("é", 100_000)
	s := compute(t, f)
	if got := condition(t, &s, v1alpha2.ConditionDeploymentUpdated).Message; len(got) > limits.MessageBytes || !strings.HasSuffix(got, "… (cut)") {
		t.Errorf("a message of %d bytes", len(got))
	}
}

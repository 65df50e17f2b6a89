// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R7, R29 (Secret values are hidden in all server data; names of the configuration are shown and compared).
func TestStatusHidesSecretsInServerLists(t *testing.T) {
	var canaries framework.Canaries
	canary := canaries.New()
	half, encoded := canary[:len(canary)/2], base64.StdEncoding.EncodeToString([]byte(canary))
	for name, answer := range map[string]func(*serverprobe.Observation){
		"version":           func(o *serverprobe.Observation) { o.Version = canary },
		"a model":           func(o *serverprobe.Observation) { o.Models.Entries[0].Name = "vllm/" + canary },
		"a model in base64": func(o *serverprobe.Observation) { o.Models.Entries[0].Name = encoded },
		"half of it":        func(o *serverprobe.Observation) { o.Models.Entries[0].Name = half },
		"a model's provider": func(o *serverprobe.Observation) {
			o.Models.Entries = append(o.Models.Entries, serverprobe.Entry{Provider: canary, Name: "x"})
		},
		"a provider's id":   func(o *serverprobe.Observation) { o.Providers[0].ID = canary },
		"a provider's type": func(o *serverprobe.Observation) { o.Providers[0].Type = "remote::" + canary },
		"a provider's API":  func(o *serverprobe.Observation) { o.Providers[0].API = canary },
		"a tool group": func(o *serverprobe.Observation) {
			o.Lists = map[string]serverprobe.List{serverconfig.ListToolGroups: {Entries: []serverprobe.Entry{{Name: canary, Provider: canary}}}}
		},
		"a connector": func(o *serverprobe.Observation) {
			o.Lists = map[string]serverprobe.List{serverconfig.ListConnectors: {Entries: []serverprobe.Entry{{Name: canary}}}}
		},
	} {
		f := serving(t, resource())
		f.Desired.SecretValues = append(f.Desired.SecretValues, secret.New([]byte(canary)))
		answer(f.Server)
		s := compute(t, f)
		text, err := json.Marshal(s)
		framework.NoError(t, err)
		if found := canaries.Find(string(text)); len(found) > 0 {
			t.Errorf("%s: the status has the value: %q", name, found)
		}
	}

	// The values are also names in the configuration, which is public.
	f := serving(t, resource())
	plain := compute(t, f)
	for _, public := range []string{"vllm", "remote::vllm", "inference", "vllm/llama3"} {
		f.Desired.SecretValues = append(f.Desired.SecretValues, secret.New([]byte(public)))
	}
	s := compute(t, f)
	models := []v1alpha2.ModelInfo{{Name: "vllm/llama3", ProviderID: "vllm"}, {Name: secret.Redacted, ProviderID: "vllm"}}
	if diff := cmp.Diff(models, s.DistributionConfig.Models); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	equal(t, "providers", plain.DistributionConfig.Providers[0], s.DistributionConfig.Providers[0])
	equal(t, "Available", condition(t, &plain, v1alpha2.ConditionAvailable).Message, condition(t, &s, v1alpha2.ConditionAvailable).Message)
}

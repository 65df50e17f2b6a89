// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Proves: NFR-003.
func TestCutEndCutsAsLittleAsPossible(t *testing.T) {
	for _, c := range []struct{ entries, excess, size, want int }{
		{3, -1, 100, 0}, {3, 0, 100, 0}, {3, 1, cutOverhead, 1}, {3, 1, cutOverhead - 1, 2}, {3, 2, cutOverhead, 2}, {3, 1 << 20, 1, 3}, {0, 1, 1, 0},
	} {
		if got := cutEnd(c.entries, c.excess, func(int) int { return c.size }); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
	var asked []int
	cutEnd(3, 1, func(i int) int { asked = append(asked, i); return 300 })
	if len(asked) != 2 || asked[0] != 2 || asked[1] != 1 {
		t.Errorf("asked for the sizes of %v", asked)
	}
}

func configOf(size int) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: []byte(`"` + strings.Repeat("x", size-2) + `"`)}
}

// Proves: NFR-003 (small configs stay, and nothing more is cut once enough is).
func TestCutConfigsCutsTheLargestFirst(t *testing.T) {
	const large, larger = cutOverhead + 1, 3 * cutOverhead
	saved := larger - len(omittedConfig(larger, "").Raw)
	for _, c := range []struct {
		excess int
		want   string
	}{
		{0, "abcd"}, {1, "abd"}, {saved, "abd"}, {saved + 1, "ad"}, {1 << 20, "ad"},
	} {
		s := &Status{DistributionConfig: &v1alpha2.DistributionConfig{Providers: []v1alpha2.ProviderInfo{
			{ProviderID: "a", Config: configOf(cutOverhead)}, {ProviderID: "b", Config: configOf(large)}, {ProviderID: "c", Config: configOf(larger)}, {ProviderID: "d"},
		}}}
		cutConfigs(s, c.excess)
		kept := ""
		for _, p := range s.DistributionConfig.Providers {
			if p.Config == nil || !strings.Contains(string(p.Config.Raw), "omitted") {
				kept += p.ProviderID
			}
		}
		if kept != c.want {
			t.Errorf("an excess of %d leaves %s, want %s", c.excess, kept, c.want)
		}
	}
}

func TestCutProvidersKeepsShortList(t *testing.T) {
	s := &Status{DistributionConfig: &v1alpha2.DistributionConfig{Providers: []v1alpha2.ProviderInfo{{ProviderID: "a"}}}}
	cutProviders(s, 0)
	if list := s.DistributionConfig.Providers; len(list) != 1 || list[0].ProviderID != "a" {
		t.Errorf("%+v", list)
	}
	cutProviders(s, 1)
	if list := s.DistributionConfig.Providers; len(list) != 1 || list[0].ProviderType != "1 more are omitted" {
		t.Errorf("%+v", list)
	}
	cutProviders(&Status{}, 1)
	cutConfigs(&Status{}, 1)
}

// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// maxStatus bounds a status as JSON in bytes; lists and watches of CRs transfer it.
	maxStatus = 128 << 10
	// maxProviderConfig bounds one provider's config in bytes.
	maxProviderConfig = 4 << 10
	// maxDistributions bounds all distributions in bytes.
	maxDistributions = 32 << 10
	// maxModels bounds all models in bytes.
	maxModels = 16 << 10
	// maxResources bounds each other list of resources in bytes.
	maxResources = 8 << 10
	// cutOverhead is an upper bound of the text that reports a cut, in bytes.
	cutOverhead = 512
)

// limit cuts a status to maxStatus: first configs of providers, then providers, then long messages.
func limit(_ *Facts, s *Status) {
	for _, cut := range []func(s *Status, excess int){cutConfigs, cutProviders, cutMessages} {
		excess := sizeOf(s) - maxStatus
		if excess <= 0 {
			return
		}
		cut(s, excess)
	}
}

func sizeOf(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("a status cannot be written as JSON: " + err.Error()) // the types can be encoded
	}
	return len(raw)
}

// omittedConfig returns the placeholder of a config: a string, which a config never is.
func omittedConfig(bytes int, configMap string) *apiextensionsv1.JSON {
	text := fmt.Sprintf("omitted: %d bytes", bytes)
	if configMap != "" {
		text += ", see ConfigMap " + configMap
	}
	raw, _ := json.Marshal(text) // encoding a string does not fail
	return &apiextensionsv1.JSON{Raw: raw}
}

func cutConfigs(s *Status, excess int) {
	if s.DistributionConfig == nil {
		return
	}
	configMap := ""
	if s.ConfigGeneration != nil {
		configMap = s.ConfigGeneration.ConfigMapName
	}
	var largest []*v1alpha2.ProviderInfo
	for i := range s.DistributionConfig.Providers {
		if p := &s.DistributionConfig.Providers[i]; p.Config != nil && len(p.Config.Raw) > cutOverhead {
			largest = append(largest, p)
		}
	}
	slices.SortStableFunc(largest, func(a, b *v1alpha2.ProviderInfo) int { return len(b.Config.Raw) - len(a.Config.Raw) })
	for _, p := range largest {
		if excess <= 0 {
			return
		}
		marker := omittedConfig(len(p.Config.Raw), configMap)
		excess -= len(p.Config.Raw) - len(marker.Raw)
		p.Config = marker
	}
}

// truncateDistributions returns as many distributions as fit into maxDistributions.
func truncateDistributions(known map[string]string) map[string]string {
	kept := maps.Clone(known)
	names := slices.Sorted(maps.Keys(known))
	cut := cutEnd(len(names), sizeOf(known)-maxDistributions, func(i int) int {
		return sizeOf(names[i]) + sizeOf(known[names[i]])
	})
	for _, name := range names[len(names)-cut:] {
		delete(kept, name)
	}
	if cut > 0 {
		kept["…"] = fmt.Sprintf("%d more are omitted", cut)
	}
	return kept
}

// truncate returns as many entries as fit into maxBytes; marker returns the entry that reports the omitted number.
func truncate[T any](list []T, maxBytes int, marker func(text string) T) []T {
	cut := cutEnd(len(list), sizeOf(list)-maxBytes, func(i int) int { return sizeOf(list[i]) })
	if cut > 0 {
		list = append(list[:len(list)-cut], marker(fmt.Sprintf("%d more are omitted", cut)))
	}
	return list
}

func cutProviders(s *Status, excess int) {
	if s.DistributionConfig == nil {
		return
	}
	list := s.DistributionConfig.Providers
	cut := cutEnd(len(list), excess, func(i int) int { return sizeOf(list[i]) })
	if cut > 0 {
		list = append(list[:len(list)-cut], v1alpha2.ProviderInfo{API: "…", ProviderID: "…",
			ProviderType: fmt.Sprintf("%d more are omitted", cut)})
		s.DistributionConfig.Providers = list
	}
}

// cutEnd returns how many entries to remove from the end to compensate for the excess and its report.
func cutEnd(entries, excess int, size func(i int) int) int {
	if excess <= 0 {
		return 0
	}
	cut := 0
	for excess += cutOverhead; excess > 0 && cut < entries; cut++ {
		excess -= size(entries-1-cut) + len(",")
	}
	return cut
}

func cutMessages(s *Status, _ int) {
	for i := range s.Conditions {
		s.Conditions[i].Message = limits.Message(s.Conditions[i].Message)
	}
}

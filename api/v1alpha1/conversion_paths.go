// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// PathOf returns the path in v1alpha1 of a field of v1alpha2, such as spec.server.containerSpec.env[0].name for
// spec.workload.overrides.env[0].name, so that messages about a converted object name what its author wrote. It is empty
// where v1alpha1 has no such field.
func PathOf(hubPath string) string {
	for i := range fieldMappings {
		m := &fieldMappings[i]
		if m.hub == "" || m.spoke == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(hubPath, m.hub); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return m.spoke + rest
		}
		if m.spokeUnit != "" && hubPath != "" && strings.HasPrefix(m.hub, hubPath+".") && strings.Count(hubPath, ".") == strings.Count(m.hub, ".")-1 {
			return m.spokeUnit
		}
	}
	return ""
}

// CarriedPaths returns, for a converted object, the paths of the other version's fields that its annotation carries because
// this version has none for them, or none that says it all, sorted. A default that was merely spelled out is left out.
func CarriedPaths(object map[string]any) []string {
	value, _ := lookup(object, annotationPath)
	text, _ := value.(string)
	record, err := v1alpha2.ParseConversionRecord(text)
	if text == "" || err != nil {
		return nil
	}
	paths := slices.Sorted(maps.Keys(record.Kept))
	return slices.DeleteFunc(paths, func(path string) bool {
		kept := record.Kept[path]
		return len(kept.Was) == 0 || len(kept.If) == 0 && slices.ContainsFunc(fieldMappings, func(m fieldMapping) bool {
			return m.spoke != "" && m.hub != "" && m.spokeUnit == "" && (m.spoke == path || m.hub == path)
		})
	})
}

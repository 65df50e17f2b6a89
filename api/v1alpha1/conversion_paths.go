// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// PathOf returns the path in v1alpha1 of a field of v1alpha2, such as spec.server.containerSpec.env[0].name for
// spec.workload.overrides.env[0].name, so that messages about a converted object name what its author wrote. It is
// empty where v1alpha1 has no such field.
func PathOf(hubPath string) string {
	for i := range fieldMappings {
		m := &fieldMappings[i]
		if m.hub == "" || m.spoke == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(hubPath, m.hub); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return m.spoke + rest
		}
		if m.spokeUnit != "" && hubPath != "" && strings.HasPrefix(m.hub, hubPath+".") &&
			strings.Count(hubPath, ".") == strings.Count(m.hub, ".")-1 {
			return m.spokeUnit
		}
	}
	return ""
}

// CarriedPaths returns, for a converted object, the paths of the other version's fields that apply only because its
// annotation carries them: this version has no field for them, or none that says it all. They are sorted. What the
// annotation merely keeps is left out: another spelling, a default that was spelled out, and what has no effect.
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
		return !hasEffect(path, kept.Was) || len(kept.If) == 0 &&
			slices.ContainsFunc(fieldMappings, func(m fieldMapping) bool {
				return m.spoke != "" && m.hub != "" && m.spokeUnit == "" && (m.spoke == path || m.hub == path)
			})
	})
}

// hasEffect reports whether a kept value does something that the version without it cannot say.
func hasEffect(path string, was json.RawMessage) bool {
	var value any
	if err := json.Unmarshal(was, &value); err != nil {
		return false
	}
	object, _ := value.(map[string]any)
	switch path {
	case "spec.networking.expose": // whether the server is exposed v1alpha1 can say
		return isExposed(value) && !isEmpty(object["hostname"])
	case "spec.server.userConfig", "spec.server.tlsConfig.caBundle":
		return !isEmpty(object["configMapName"]) && (!isEmpty(object["configMapNamespace"]) ||
			!isEmpty(object["configMapKeys"]))
	default:
		return !isEmpty(value)
	}
}

// isEmpty: empty means absent (R31).
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return value == nil || value == "" || value == false
	}
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// PathOf returns the v1alpha1 path of a v1alpha2 field, for messages about converted objects; empty if v1alpha1 has no
// such field. For example, spec.workload.overrides.env[0].name is spec.server.containerSpec.env[0].name.
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

// HubPathOf returns the v1alpha2 path of a v1alpha1 field; empty if v1alpha2 has no single such field.
func HubPathOf(path string) string {
	for i := range fieldMappings {
		m := &fieldMappings[i]
		if m.hub == "" || m.spoke == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(path, m.spoke); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return m.hub + rest
		}
	}
	return ""
}

// CarriedPaths returns the sorted paths of the other version's fields that apply only because the annotation of a
// converted object keeps them. It omits fields without effect, explicit defaults, and other spellings of a value.
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

// hasEffect reports whether a kept value has an effect that the other version cannot express.
func hasEffect(path string, was json.RawMessage) bool {
	var value any
	if err := json.Unmarshal(was, &value); err != nil {
		return false
	}
	object, _ := value.(map[string]any)
	switch path {
	case "spec.networking.expose": // v1alpha1 has the rest of the value
		return isExposed(value) && slices.ContainsFunc([]string{"hostname", "className", "annotations", "tls", "weight"},
			func(field string) bool { return !isEmpty(object[field]) })
	case "spec.server.userConfig", "spec.server.tlsConfig.caBundle":
		return !isEmpty(object["configMapName"]) && (!isEmpty(object["configMapNamespace"]) ||
			!isEmpty(object["configMapKeys"]))
	default:
		return !isEmpty(value)
	}
}

// isEmpty reports whether a value is empty, which means absent.
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

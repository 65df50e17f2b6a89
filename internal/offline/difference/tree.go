// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/redact"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Change is a changed leaf; an empty value means absent.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

var keyFields = []string{"model_id", "shield_id", "toolgroup_id", "provider_id", "name", "mountPath", "containerPort",
	"port"}

// CompareTrees compares two values of JSON data.
func CompareTrees(before, after any) []Change {
	a, b := leaves(before), leaves(after)
	paths := maps.Clone(a)
	maps.Copy(paths, b)
	var changes []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		x, there := a[path]
		y, here := b[path]
		if there == here && x.text == y.text {
			continue
		}
		changes = append(changes, Change{Path: path, Before: x.display(), After: y.display()})
	}
	return changes
}

type leaf struct {
	name, text string
	secret     bool
}

func (l leaf) display() string {
	switch {
	case l.text == `""`:
		return l.text
	case l.secret:
		return redact.Hidden
	}
	return redact.Value(l.name, l.text).(string)
}

func leaves(value any) map[string]leaf {
	found := map[string]leaf{}
	addLeaves(found, "", leaf{}, value)
	return found
}

func addLeaves(found map[string]leaf, path string, at leaf, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, each := range v {
			_, secret := each.(secretValue)
			addLeaves(found, join(path, key), leaf{name: key, secret: secret}, each)
		}
		if len(v) == 0 {
			at.text = "{}"
			found[path] = at
		}
	case []any:
		seen := map[string]int{}
		for i, each := range v {
			key, rest := itemKey(i, each)
			if item, ok := rest.(map[string]any); ok && redact.IsSecretName(key) && item["value"] != nil {
				rest = hiddenValue(item)
			}
			seen[key]++
			if seen[key] > 1 {
				key += "#" + strconv.Itoa(seen[key])
			}
			addLeaves(found, path+"["+key+"]", at, rest)
		}
		if len(v) == 0 {
			at.text = "[]"
			found[path] = at
		}
	case string:
		at.text = v
		if v == "" {
			at.text = `""`
		}
		found[path] = at
	case secretValue:
		at.text = string(v)
		found[path] = at
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		at.text = string(text)
		found[path] = at
	}
}

// secretValue is an environment variable's value that is compared but never shown.
type secretValue string

func hiddenValue(variable map[string]any) map[string]any {
	hidden := maps.Clone(variable)
	hidden["value"] = secretValue(fmt.Sprint(variable["value"]))
	return hidden
}

func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// itemKey returns the key of a list item and its remaining fields. A short string is its own key.
func itemKey(i int, item any) (key string, rest any) {
	if text, ok := item.(string); ok && len(text) < 60 && redact.Text(text) == text {
		return text, "present"
	}
	fields, ok := item.(map[string]any)
	if !ok {
		return strconv.Itoa(i), item
	}
	for _, field := range keyFields {
		id, known := fields[field]
		if !known {
			continue
		}
		// The condition of ${env.X:+vllm} is a leaf of item vllm.
		if ref, whole := document.WholeReference(fmt.Sprint(id)); whole && ref.Value != "" &&
			ref.Value != document.DisabledID {
			return ref.Value, item
		}
		rest := maps.Clone(fields)
		delete(rest, field)
		if len(rest) == 0 {
			return fmt.Sprint(id), "present"
		}
		return fmt.Sprint(id), rest
	}
	return strconv.Itoa(i), item
}

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

// Change is a leaf that is another one. An empty value means that there is none.
type Change struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// keyFields are the fields that items of lists are known by.
var keyFields = []string{"model_id", "shield_id", "toolgroup_id", "provider_id", "name", "mountPath", "containerPort",
	"port"}

// Trees compares two values as JSON data has them.
func Trees(before, after any) []Change {
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
		changes = append(changes, Change{Path: path, Before: x.shown(), After: y.shown()})
	}
	return changes
}

// leaf is a value that has no parts.
type leaf struct {
	name, text string
	secret     bool
}

// shown is the value as it may be shown.
func (l leaf) shown() string {
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
	add(found, "", leaf{}, value)
	return found
}

// add adds the leaves of a value at a path. The leaf has the name of the field.
func add(found map[string]leaf, path string, at leaf, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, each := range v {
			_, secret := each.(secretValue)
			add(found, join(path, key), leaf{name: key, secret: secret}, each)
		}
		if len(v) == 0 {
			at.text = "{}"
			found[path] = at
		}
	case []any:
		seen := map[string]int{}
		for i, each := range v {
			key, rest := keyed(i, each)
			if item, ok := rest.(map[string]any); ok && redact.IsSecretName(key) && item["value"] != nil {
				rest = hiddenValue(item)
			}
			seen[key]++
			if seen[key] > 1 {
				key += "#" + strconv.Itoa(seen[key])
			}
			add(found, path+"["+key+"]", at, rest)
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

// secretValue is the value of an environment variable whose name sounds like a secret. It is compared, and not shown.
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

// keyed returns what an item of a list is known by, and the rest of it. A text is known by itself.
func keyed(i int, item any) (key string, rest any) {
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
		// ${env.X:+vllm} is vllm, under a condition: the condition is a leaf.
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

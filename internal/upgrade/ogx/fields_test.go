// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

// Proves: R98 (the program knows the meaning of every rule of the schema).
func TestEveryRuleIsKnown(t *testing.T) {
	rules := 0
	eachNode("", schema(), func(path string, n *node) {
		for _, r := range n.rules {
			rules++
			if r.broken == nil {
				t.Errorf("%s: nothing checks %q", path, r.message)
			}
		}
		if n.kind == "" {
			t.Errorf("%s has no type", path)
		}
	})
	if want := strings.Count(fieldsText, "  rule at "); rules != want {
		t.Errorf("%d rules, want %d", rules, want)
	}
}

// withoutEffect are fields that mean nothing beside the defaults of both kinds.
var withoutEffect = []string{
	"spec.network.policy.ingress[].from[].podSelector", // pods of the own namespace are always allowed
}

// Proves: R98 (each field of OGXServer is converted, or declared lost with a way to keep it).
func TestEveryFieldOfOGXServerIsConvertedOrDeclaredLost(t *testing.T) {
	leaves := 0
	eachNode("", schema(), func(path string, n *node) {
		if len(n.fields) > 0 || n.item != nil || n.value != nil {
			return
		}
		leaves++
		object, at := objectWith(t, path)
		if found := schema().fields["spec"].validate(nil, object["spec"]); len(found) > 0 {
			t.Fatalf("%s: the example is not valid: %v\n%v", path, found, object)
		}
		with, findings := To(object, nil)
		rest := runtime.DeepCopyJSON(object)
		remove(rest, at)
		without, _ := To(rest, nil)
		changed := cmp.Diff(with, without) != ""
		lost := slices.ContainsFunc(findings, func(f Finding) bool {
			below, leads := strings.CutPrefix(path, index.ReplaceAllString(f.Path, "[]"))
			return f.Lost != "" && leads && (below == "" || below[0] == '.' || below[0] == '[')
		})
		exempt := slices.ContainsFunc(withoutEffect, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
		if !changed && !lost && !exempt {
			t.Errorf("%s is neither converted nor lost: %v", path, findings)
		}
		general := unsaidByDistribution[len(unsaidByDistribution)-1]
		for _, f := range findings {
			if f.Detail == "" || f.Fix == "" || f.Detail == general.detail && f.Lost != "" {
				t.Errorf("%s: the table has no row for %+v", path, f)
			}
		}
	})
	if leaves < 400 {
		t.Errorf("only %d fields", leaves)
	}
}

// Proves: R98 (fields that are newer than the schema are lost, with a way to keep them).
func TestNewerFieldsAreDeclaredLost(t *testing.T) {
	for _, path := range []string{"spec.praxisMode"} {
		object := map[string]any{"spec": map[string]any{}}
		put(object, path, map[string]any{"enabled": true, "secretName": "x"})
		_, findings := To(object, nil)
		if !slices.ContainsFunc(findings, func(f Finding) bool {
			return f.Path == path && f.Lost == "object" && f.Detail != reasonFor(unsaidByDistribution, "spec").detail
		}) {
			t.Errorf("%s: %+v", path, findings)
		}
	}
	object := map[string]any{"spec": map[string]any{}}
	put(object, "spec.praxisMode.enabled", false)
	if _, findings := To(object, nil); isLost(findings, "spec.praxisMode") {
		t.Errorf("a disabled mode is lost: %v", findings)
	}
}

func eachNode(path string, n *node, visit func(string, *node)) {
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		visit(at, n.fields[name])
		eachNode(at, n.fields[name], visit)
	}
	for part, inner := range map[string]*node{"[]": n.item, ".<name>": n.value} {
		if inner != nil {
			visit(path+part, inner)
			eachNode(path+part, inner, visit)
		}
	}
}

// objectWith returns a valid OGXServer with the field, and where its value is.
func objectWith(t *testing.T, path string) (map[string]any, place) {
	t.Helper()
	object := map[string]any{"metadata": map[string]any{"name": "x", "namespace": "own"}, "spec": map[string]any{}}
	at, n := place{}, schema()
	var holder any = object
	for _, part := range regexp.MustCompile(`[^.\[\]]+|\[\]`).FindAllString(path, -1) {
		var next *node
		var key any = part
		switch part {
		case "[]":
			next, key = n.item, 0
		case "<name>":
			next, key = n.value, "name"
		default:
			next = n.fields[part]
		}
		at, n = at.below(key), next
		value := sample(n)
		switch holder := holder.(type) {
		case map[string]any:
			if name, _ := key.(string); holder[name] == nil || !isContainer(n) {
				holder[name] = value
			}
			holder[key.(string)] = cmpOr(holder[key.(string)], value)
			value = holder[key.(string)]
		case []any:
			holder[0] = value
		}
		if list, isList := value.([]any); isList && len(list) == 0 {
			t.Fatal(path)
		}
		holder = value
	}
	for range 10 {
		found := schema().fields["spec"].validate(place{"spec"}, object["spec"])
		if len(found) == 0 {
			break
		}
		complete(object, found[0])
	}
	return object, at
}

func cmpOr(a, b any) any {
	if a != nil {
		return a
	}
	return b
}

func isContainer(n *node) bool { return n.kind == "object" || n.kind == "array" }

// sample returns a value of a field that is not its default, with the required members.
func sample(n *node) any {
	switch n.kind {
	case "object":
		object := map[string]any{}
		for name, f := range n.fields {
			if f.required {
				object[name] = sample(f)
			}
		}
		if len(n.fields) == 0 && n.value == nil {
			object["name"] = "x"
		}
		return object
	case "array":
		return []any{sample(n.item)}
	case "boolean":
		return n.preset != "True"
	case "integer", "int-or-string":
		if n.preset != "" {
			return int64(4321)
		}
		return max(int64(1), n.limits["min"])
	case "any":
		return map[string]any{"some_field": "x"}
	}
	if len(n.enum) > 0 {
		return n.enum[len(n.enum)-1]
	}
	return "x"
}

// complete adds to the object, or removes from it, what a violation asks for.
func complete(object map[string]any, v violation) {
	holder := func(at place) map[string]any {
		var value any = object
		for _, part := range at {
			switch current := value.(type) {
			case map[string]any:
				value = current[part.(string)]
			case []any:
				value = current[part.(int)]
			}
		}
		members, _ := value.(map[string]any)
		return members
	}
	for pattern, fix := range map[string]func(words []string){
		`^needs the field (\S+)$`: func(w []string) {
			holder(v.at)[w[1]] = map[string]any{"name": "starter"} // spec.distribution
		},
		`^(?:at least )?one of (\S+) or \S+ must be specified$`: func(w []string) {
			value := any("x")
			switch w[1] {
			case "minAvailable":
				value = int64(1)
			case "hnsw":
				value = map[string]any{}
			}
			holder(v.at)[w[1]] = value
		},
		`^(\S+) is required when type is (\S+)$`: func(w []string) {
			holder(v.at)[w[1]] = any("x")
			if w[1] == "connectionString" {
				holder(v.at)[w[1]] = map[string]any{"name": "x", "key": "x"}
			}
		},
		`^(\S+) is only valid when type is (\S+)$`: func(w []string) { holder(v.at[:len(v.at)-1])["type"] = w[2] },
		`must have a 'remote::' or 'inline::' prefix`: func([]string) {
			holder(v.at)["type"] = fmt.Sprint(v.at[3], "::x")
		},
	} {
		if words := regexp.MustCompile(pattern).FindStringSubmatch(v.detail); words != nil {
			fix(words)
		}
	}
}

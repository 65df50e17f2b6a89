// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

//go:embed fields.txt
var fieldsText string

// node is a field of OGXServer with the limits of its CRD.
type node struct {
	kind     string
	required bool
	// limits are the numbers after min, max, minLength and so on.
	limits  map[string]int64
	enum    []string
	pattern *regexp.Regexp
	preset  string
	rules   []rule
	fields  map[string]*node
	// item is the item of a list, and value the value of a map.
	item, value *node
}

// schema returns the fields of OGXServer.
var schema = sync.OnceValue(func() *node { return parseFields(fieldsText) })

var fieldLine = regexp.MustCompile(`^(\S+) (\S+)(?: \((.*)\))?$`)

func parseFields(text string) *node {
	root := &node{kind: "object"}
	for line := range strings.SplitSeq(text, "\n") {
		if at, isRule := strings.CutPrefix(line, "  rule at "); isRule {
			path, message, _ := strings.Cut(at, ": ")
			n := root.child(path)
			n.rules = append(n.rules, ruleOf(message))
			continue
		}
		parts := fieldLine.FindStringSubmatch(line)
		if parts == nil || strings.HasPrefix(line, "#") {
			continue
		}
		n := root.child(parts[1])
		n.kind = parts[2]
		attributes := parts[3]
		if before, pattern, found := strings.Cut(attributes, "pattern "); found { // the last attribute
			n.pattern, attributes = regexp.MustCompile(pattern), before
		}
		for attribute := range strings.SplitSeq(attributes, "; ") {
			name, value, _ := strings.Cut(attribute, " ")
			switch {
			case name == "required":
				n.required = true
			case name == "one":
				n.enum = strings.Fields(strings.TrimPrefix(value, "of "))
			case name == "default":
				n.preset = value
			case name != "":
				n.limits[name], _ = strconv.ParseInt(value, 10, 64)
			}
		}
	}
	return root
}

// child returns the field at a path such as "spec.disabledAPIs[]", and creates it if it does not exist.
func (n *node) child(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[]")
		next := &n.value
		if name != "<name>" {
			if n.fields == nil {
				n.fields = map[string]*node{}
			}
			field := n.fields[name]
			next = &field
		}
		if *next == nil {
			*next = &node{limits: map[string]int64{}}
			if name != "<name>" {
				n.fields[name] = *next
			}
		}
		n = *next
		if isItem {
			if n.item == nil {
				n.item = &node{limits: map[string]int64{}}
			}
			n = n.item
		}
	}
	return n
}

// find returns the field at a path, or nil.
func (n *node) find(path string) *node {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[]")
		if n = n.fields[name]; n != nil && isItem {
			n = n.item
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// isSecretReference reports whether the field is a reference to a key of a Secret.
func (n *node) isSecretReference() bool {
	return n.kind == "object" && len(n.fields) == 2 && n.fields["name"] != nil && n.fields["key"] != nil
}

// place is where a value is in an object: the names and list indexes that lead to it.
type place []any

func (p place) below(part any) place { return append(slices.Clip(p), part) }

func (p place) String() string {
	path := ""
	for _, part := range p {
		switch part := part.(type) {
		case int:
			path += fmt.Sprintf("[%d]", part)
		case string:
			path = memberPath(path, part)
		}
	}
	return path
}

// memberPath returns the path of a member in the form of field.Path, where a name that is not plain is a key.
func memberPath(path, name string) string {
	if name == "" || strings.ContainsAny(name, ".[]") {
		return path + "[" + name + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// compare orders places, outer ones before inner ones.
func (p place) compare(other place) int {
	return slices.CompareFunc(p, other, func(a, b any) int {
		if n, isIndex := a.(int); isIndex {
			m, _ := b.(int)
			return cmp.Compare(n, m)
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}

// isIn reports whether the place is in another one, or is this one.
func (p place) isIn(other place) bool {
	return len(p) >= len(other) && slices.Equal(p[:len(other)], other)
}

// violation is a value that the API server refuses.
type violation struct {
	at     place
	detail string
}

// validate returns the values that the API server refuses, the inner ones first.
func (n *node) validate(at place, value any) []violation {
	if value == nil {
		return nil // the API server drops null
	}
	if !n.takes(value) {
		return []violation{{at, "must be of type " + n.kind}}
	}
	switch value := value.(type) {
	case map[string]any:
		return n.validateObject(at, value)
	case []any:
		var found []violation
		for i, item := range value {
			if n.item != nil {
				found = append(found, n.item.validate(at.below(i), item)...)
			}
		}
		return append(found, n.outside(at, int64(len(value)), "minItems", "maxItems", "items")...)
	case string:
		switch {
		case len(n.enum) > 0 && !slices.Contains(n.enum, value):
			return []violation{{at, "must be one of " + strings.Join(n.enum, ", ")}}
		case n.pattern != nil && !n.pattern.MatchString(value):
			return []violation{{at, "must match " + n.pattern.String()}}
		}
		return n.outside(at, int64(utf8.RuneCountInString(value)), "minLength", "maxLength", "characters")
	case int64:
		return n.outside(at, value, "min", "max", "")
	}
	return nil
}

// takes reports whether the field has the type of a value.
func (n *node) takes(value any) bool {
	kinds := map[string][]string{
		"object": {"object"}, "list": {"array"}, "boolean": {"boolean"}, "string": {"string", "int-or-string"},
	}[typeOf(value)]
	if _, isInteger := value.(int64); isInteger {
		kinds = []string{"integer", "int-or-string"}
	}
	return n.kind == "any" || slices.Contains(kinds, n.kind)
}

func (n *node) outside(at place, value int64, low, high, unit string) []violation {
	if least, limited := n.limits[low]; limited && value < least {
		return []violation{{at, strings.TrimSpace(fmt.Sprintf("must be at least %d %s", least, unit))}}
	}
	if most, limited := n.limits[high]; limited && value > most {
		return []violation{{at, strings.TrimSpace(fmt.Sprintf("must be at most %d %s", most, unit))}}
	}
	return nil
}

func (n *node) validateObject(at place, object map[string]any) []violation {
	var found []violation
	for _, name := range slices.Sorted(maps.Keys(object)) {
		member := at.below(name)
		switch field := n.fields[name]; {
		case field != nil:
			found = append(found, field.validate(member, object[name])...)
		case n.value != nil:
			found = append(found, n.value.validate(member, object[name])...)
		case len(n.fields) > 0:
			found = append(found, violation{member, "is not a field of " + Kind})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.fields)) {
		if n.fields[name].required && object[name] == nil {
			found = append(found, violation{at, "needs the field " + name})
		}
	}
	for _, r := range n.rules {
		if members, broken := r.broken(n, object); broken {
			found = append(found, violation{slices.Concat(at, members), r.message})
		}
	}
	return found
}

// rule is a CEL rule of the CRD.
type rule struct {
	message string
	// broken reports whether the object breaks the rule, and the part to remove; nil for the object itself.
	broken func(*node, map[string]any) (place, bool)
}

// valueOf returns the value of a member, or its default.
func (n *node) valueOf(object map[string]any, name string) any {
	if value := object[name]; value != nil {
		return value
	}
	if field := n.fields[name]; field != nil && field.preset != "" {
		return field.preset
	}
	return nil
}

// members are the members of an object.
type members = map[string]any

var compile = regexp.MustCompile

// rulePatterns have the messages of the rules, with their meaning.
var rulePatterns = []struct {
	pattern *regexp.Regexp
	broken  func(n *node, object members, words []string) (place, bool)
}{
	{compile(`^(\S+) must not be empty if specified$`), func(_ *node, o members, w []string) (place, bool) {
		return place{w[1]}, o[w[1]] == ""
	}},
	{compile(`^(\S+) and (\S+) are mutually exclusive$`), bothOf},
	{compile(`^only one of (\S+) or (\S+) can be specified$`), bothOf},
	{compile(`^(?:at least )?one of (\S+) or (\S+) must be specified$`), noneOf},
	{compile(`^(\S+) cannot be both in providers and disabledAPIs$`), func(_ *node, o members, w []string) (place, bool) {
		providers, _ := o["providers"].(map[string]any)
		list, _ := o["disabledAPIs"].([]any)
		at := slices.Index(list, any(w[1]))
		return place{"disabledAPIs", at}, at >= 0 && providers[camel(w[1])] != nil
	}},
	{compile(`^(type) must have a 'remote::' or 'inline::' prefix`), func(_ *node, o members, w []string) (place, bool) {
		text, _ := o[w[1]].(string)
		return nil, !strings.HasPrefix(text, "remote::") && !strings.HasPrefix(text, "inline::")
	}},
	{compile(`^(\S+) is required when type is (\S+)$`), func(n *node, o members, w []string) (place, bool) {
		return nil, n.valueOf(o, "type") == w[2] && o[w[1]] == nil
	}},
	{compile(`^(\S+) is only valid when type is (\S+)$`), func(n *node, o members, w []string) (place, bool) {
		return place{w[1]}, n.valueOf(o, "type") != w[2] && o[w[1]] != nil
	}},
	{compile(`^(\S+) must be greater than or equal to (\S+)$`), func(_ *node, o members, w []string) (place, bool) {
		most, limited := o[w[1]].(int64)
		least, given := o[w[2]].(int64)
		return place{w[2]}, limited && given && most < least
	}},
	{compile(`^(\S+) must be a positive quantity$`), func(_ *node, o members, w []string) (place, bool) {
		quantity, err := resource.ParseQuantity(fmt.Sprint(o[w[1]]))
		return place{w[1]}, o[w[1]] != nil && (err != nil || quantity.Sign() <= 0)
	}},
}

func bothOf(_ *node, o members, w []string) (place, bool) {
	return place{w[2]}, o[w[1]] != nil && o[w[2]] != nil
}

func noneOf(_ *node, o members, w []string) (place, bool) {
	return nil, o[w[1]] == nil && o[w[2]] == nil
}

// ruleOf returns the rule with a message; broken is nil for an unknown message, which a test reports.
func ruleOf(message string) rule {
	for _, p := range rulePatterns {
		if words := p.pattern.FindStringSubmatch(message); words != nil {
			return rule{message, func(n *node, object map[string]any) (place, bool) { return p.broken(n, object, words) }}
		}
	}
	return rule{message: message}
}

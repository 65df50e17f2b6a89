// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Action is the kind of a change.
type Action string

// The actions.
const (
	// Rewritten means that a part has another name, value or place.
	Rewritten Action = "rewritten"
	// Added means that the release line needs something that the file does not have.
	Added Action = "added"
	// Removed means that the release line does not read a part of the file.
	Removed Action = "removed"
	// Kept means that the release line cannot use a part, which stays in the file until the user replaces it.
	Kept Action = "kept"
)

// Change is a difference between a file and its result, or a part that the user must replace.
type Change struct {
	Action Action
	// Path is the path in the configuration: "providers.inference[0].config.url".
	Path string
	// Line is the line in the file, or 0.
	Line int
	// Detail says what the change is, and Reason why, or what to do. Both hold no values of secrets.
	Detail, Reason string
}

// At returns file, line and path, as editors read them.
func (c *Change) At(file string) string {
	if c.Line > 0 {
		file = fmt.Sprintf("%s:%d", file, c.Line)
	}
	return file + ": " + c.Path
}

// ToLine rewrites the tree of a config.yaml, which document.Read accepts, so that the release line reads it. If it does
// so already, the tree stays as it is and no change but Kept is returned.
func ToLine(root *yaml.Node, line *catalog.Line) []Change {
	m := &migration{root: root, line: line, from: release.LinesOf(root)}
	m.variables(root, "")
	references := len(m.changes)
	m.name()
	m.version()
	m.topLevelStores()
	m.apis()
	m.providers()
	m.resources()
	m.oldModelNames()
	m.toolGroups()
	m.server()
	m.sections()
	m.neededProviders()
	m.storage()
	m.defaults()
	return sorted(m.changes, references)
}

// sorted returns the changes by line. It omits the references to environment variables, which are the first ones, in
// parts that are removed.
func sorted(changes []Change, references int) []Change {
	isRemoved := func(path string) bool {
		return slices.ContainsFunc(changes, func(c Change) bool {
			rest, below := strings.CutPrefix(path, c.Path)
			return c.Action == Removed && below && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
		})
	}
	var kept []Change
	for i, c := range changes {
		if i >= references || !isRemoved(c.Path) {
			kept = append(kept, c)
		}
	}
	slices.SortStableFunc(kept, func(a, b Change) int {
		return cmp.Compare(cmp.Or(a.Line, math.MaxInt), cmp.Or(b.Line, math.MaxInt))
	})
	return kept
}

// Changed reports whether a change other than Kept is in a list.
func Changed(changes []Change) bool {
	for i := range changes {
		if changes[i].Action != Kept {
			return true
		}
	}
	return false
}

// migration is the state of ToLine.
type migration struct {
	root *yaml.Node
	line *catalog.Line
	// from are the release lines that support the whole file; empty for llama-stack 0.2 and for mixtures.
	from []string
	// old means that the file has parts of llama-stack 0.2, and ownStorage that the section storage is new.
	old, ownStorage bool
	// removed are the APIs that were removed with their providers.
	removed []string
	changes []Change
}

// suits reports whether the release line knows each part of the file as it was. Such a part keeps its meaning.
func (m *migration) suits() bool { return slices.Contains(m.from, m.line.Name) }

func (m *migration) add(action Action, n *yaml.Node, path, detail, reason string) {
	line := 0
	if n != nil {
		line = n.Line
	}
	m.changes = append(m.changes, Change{Action: action, Path: path, Line: line, Detail: detail, Reason: reason})
}

// reads returns "release line 1.5 reads …".
func (m *migration) reads(what string) string {
	return "release line " + m.line.Name + " reads " + what
}

// hasNo returns "release line 1.5 has no …".
func (m *migration) hasNo(what string) string {
	return "release line " + m.line.Name + " has no " + what
}

// elsewhere reports whether another release line has something that this one does not.
func elsewhere(has func(*catalog.Line) bool) bool { return catalog.FirstLine(has) != "" }

// child returns the map or list at a path of keys, or nil.
func (m *migration) child(path ...string) *yaml.Node { return document.Descend(m.root, path) }

// rename changes a key of a map, with its value and comments kept.
func rename(n *yaml.Node, key, name string) {
	if at, ok := document.IndexOf(n, key); ok {
		n.Content[at-1].Value = name
	}
}

// insertAfter adds a key of the root behind another one, or at the end.
func (m *migration) insertAfter(before, key string, value *yaml.Node) {
	document.Drop(m.root, key)
	at, ok := document.IndexOf(m.root, before)
	if !ok {
		document.Set(m.root, key, value)
		return
	}
	rest := append([]*yaml.Node{document.String(key), value}, m.root.Content[at+1:]...)
	m.root.Content = append(m.root.Content[:at+1:at+1], rest...)
}

// pair is a key of a map with its value.
type pair struct {
	key   string
	value *yaml.Node
}

// pairs returns the keys and values of a map, which may change meanwhile.
func pairs(n *yaml.Node) []pair {
	var list []pair
	for key, value := range document.Members(n) {
		list = append(list, pair{key, value})
	}
	return list
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return limits.Join(path, "."+key)
}

func index(path string, i int) string { return limits.Join(path, fmt.Sprintf("[%d]", i)) }

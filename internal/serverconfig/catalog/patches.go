// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Patch is what is different in the older patch releases of a release line.
type Patch struct {
	// Before is the first patch release without the difference: "1.3.1".
	Before string `yaml:"before"`
	// Changes make what the releases before know of what this release knows, as a JSON merge patch: null says that
	// something is not there. In a list of rows, the names are their types.
	Changes map[string]any `yaml:"changes"`
}

// older is a release line as its patch releases before another one know it.
type older struct {
	before string
	line   func() *Line
}

// At returns a release line of Get as a release of it knows it: without what later patch releases brought. A text that
// names no patch release stands for the newest one.
func (l *Line) At(text string) *Line {
	parts := release.FindStringSubmatch(text)
	if parts == nil {
		return l
	}
	at := l
	for _, o := range l.older {
		if Compare(parts[1], o.before) >= 0 {
			break
		}
		at = o.line()
	}
	return at
}

// Older reports whether this is the release line as older patch releases know it.
func (l *Line) Older() bool { return l.next != nil }

// Since returns the first later patch release of the release line for which a condition holds, such as "1.3.1"; empty
// where it holds for none.
func (l *Line) Since(holds func(*Line) bool) string {
	for at := l; at.next != nil; at = at.next {
		if holds(at.next) {
			return at.before
		}
	}
	return ""
}

// From returns the patch release from which on a condition holds for a release line of Get; empty where it does from
// the first one on, and where it does not hold for the newest.
func (l *Line) From(holds func(*Line) bool) string {
	if len(l.older) == 0 {
		return ""
	}
	if first := l.older[len(l.older)-1].line(); !holds(first) {
		return first.Since(holds)
	}
	return ""
}

// Without names a release line for a message that it has not what a condition asks for: "release line 1.3", and where
// later patch releases have it "release line 1.3 before 1.3.1".
func (l *Line) Without(holds func(*Line) bool) string {
	if since := l.Since(holds); since != "" {
		return "release line " + l.Name + " before " + since
	}
	return "release line " + l.Name
}

// readPatches prepares what At returns. Each is made when it is asked for first.
func (l *Line) readPatches(data []byte) {
	for i := range l.Patches {
		l.older = append(l.older, older{before: l.Patches[i].Before, line: sync.OnceValue(func() *Line {
			line, err := patched(data, l.Patches[:i+1])
			if err != nil {
				panic(fmt.Sprintf("catalog: release line %s before %s: %v", l.Name, l.Patches[i].Before,
					err)) // proven by a test over all of them
			}
			line.before, line.next = l.Patches[i].Before, l
			if i > 0 {
				line.next = l.older[i-1].line()
			}
			return line
		})})
	}
}

// patched reads the file of a release line with patches.
func patched(data []byte, patches []Patch) (*Line, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	for _, p := range patches {
		merge(tree, p.Changes)
	}
	delete(tree, "patches")
	changed, err := yaml.Marshal(tree)
	if err != nil {
		return nil, err
	}
	return Parse(changed)
}

// merge applies a JSON merge patch.
func merge(tree, changes map[string]any) {
	for name, change := range changes {
		inner, isMap := change.(map[string]any)
		switch old := tree[name].(type) {
		case map[string]any:
			if isMap {
				merge(old, inner)
				continue
			}
		case []any:
			if isMap {
				tree[name] = mergeRows(old, inner)
				continue
			}
		}
		if change == nil {
			delete(tree, name)
		} else {
			tree[name] = change
		}
	}
}

// mergeRows applies a JSON merge patch to a list of rows.
func mergeRows(rows []any, changes map[string]any) []any {
	byType := map[string]any{}
	for _, row := range rows {
		fields, _ := row.(map[string]any)
		name, _ := fields["type"].(string)
		byType[name] = row
	}
	merge(byType, changes)
	merged := make([]any, 0, len(byType))
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		merged = append(merged, byType[name])
	}
	return merged
}

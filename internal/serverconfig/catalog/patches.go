// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Patch holds the differences of older patch releases of a release line.
type Patch struct {
	// Before is the first patch release without the difference: "1.3.1".
	Before string `yaml:"before"`
	// Changes is a JSON merge patch that makes the older data from the newer; in lists of rows, the keys are the types.
	Changes map[string]any `yaml:"changes"`
}

// older is a release line as it was before a patch release.
type older struct {
	before string
	line   func() *Line
}

// At returns the release line as it is in a patch release. A text without a patch release means the newest one.
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

// Older reports whether this is the data of older patch releases.
func (l *Line) Older() bool { return l.next != nil }

// Since returns the first later patch release with the condition, such as "1.3.1", or "".
func (l *Line) Since(holds func(*Line) bool) string {
	for at := l; at.next != nil; at = at.next {
		if holds(at.next) {
			return at.before
		}
	}
	return ""
}

// From returns the patch release that introduced the condition, or "" if all have it or the newest lacks it.
func (l *Line) From(holds func(*Line) bool) string {
	if len(l.older) == 0 {
		return ""
	}
	if first := l.older[len(l.older)-1].line(); !holds(first) {
		return first.Since(holds)
	}
	return ""
}

// Without returns the name of a release line without the condition: "release line 1.3", or "release line 1.3 before
// 1.3.1" if later patch releases have it.
func (l *Line) Without(holds func(*Line) bool) string {
	if since := l.Since(holds); since != "" {
		return "release line " + l.Name + " before " + since
	}
	return "release line " + l.Name
}

// readPatches prepares the patched release lines for At. Each is built on first use.
func (l *Line) readPatches(data []byte) {
	for i := range l.Patches {
		l.older = append(l.older, older{before: l.Patches[i].Before, line: sync.OnceValue(func() *Line {
			line, err := patched(data, l.Patches[:i+1])
			if err != nil {
				panic(fmt.Sprintf("catalog: release line %s before %s: %v", l.Name, l.Patches[i].Before,
					err)) // a test covers all patches
			}
			line.before, line.next = l.Patches[i].Before, l
			if i > 0 {
				line.next = l.older[i-1].line()
			}
			return line
		})})
	}
}

// patched parses the file of a release line with patches applied.
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

// mergeRows applies a JSON merge patch to a list of rows, keyed by type.
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

// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"maps"
	"slices"
	"sync"
)

// index is the file apis.yaml.
type index struct {
	// APIs are the APIs of all release lines, by the server's name.
	APIs map[string]history `yaml:"apis"`
	// ToolGroups are the names that a tool group has on other release lines.
	ToolGroups map[string]string `yaml:"toolGroups"`
}

// history is where an API was and is.
type history struct {
	// Lines are the release lines that have it, oldest first; none for one that never had providers.
	Lines []string `yaml:"lines"`
	// Instead reports what to do where it is not.
	Instead string `yaml:"instead"`
}

var readIndex = sync.OnceValue(func() *index {
	return mustRead("apis.yaml", func(data []byte) (*index, error) {
		parsed := &index{}
		return parsed, decode(data, parsed)
	})
})

// Absence describes an API that a release line does not have.
type Absence struct {
	// GoneSince is the first release line without it; empty where the release line is older than the API or no release
	// line ever had it.
	GoneSince string
	// ComesWith is the first release line that has it; empty where that is older than this release line or no release line
	// ever had it.
	ComesWith string
	// Instead reports what to do on this release line; it may be empty.
	Instead string
}

// KnownAPIs returns the APIs that any release line has or had, sorted.
func KnownAPIs() []string { return slices.Sorted(maps.Keys(readIndex().APIs)) }

// Absent describes an API that this release line does not have. It is false for one that the release line has, and for
// a name that no release line knows.
func (l *Line) Absent(api string) (Absence, bool) {
	if _, here := l.APIs[api]; here {
		return Absence{}, false
	}
	known, ok := readIndex().APIs[api]
	if !ok {
		return Absence{}, false
	}
	absence := Absence{Instead: known.Instead}
	names := Lines()
	for _, other := range known.Lines {
		if Compare(other, l.Name) > 0 {
			absence.ComesWith = other
			break
		}
		if next := slices.Index(names, other) + 1; next < len(names) {
			absence.GoneSince = names[next]
		}
	}
	return absence, true
}

// OtherToolGroup returns the name that a tool group has on other release lines, such as "builtin::file_search" for
// "builtin::rag".
func OtherToolGroup(id string) (string, bool) {
	other, ok := readIndex().ToolGroups[id]
	return other, ok
}

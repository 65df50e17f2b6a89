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
	// ToolGroups are the names of tool groups on other release lines.
	ToolGroups map[string]string `yaml:"toolGroups"`
}

type history struct {
	// Lines are the release lines that have it, oldest first; empty for an API that never had providers.
	Lines []string `yaml:"lines"`
	// Instead says what to use on release lines without it.
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
	// RemovedIn is the first release line without the API, or "" if it was not removed before this one.
	RemovedIn string
	// AddedIn is the first later release line with the API, or "".
	AddedIn string
	// Instead says what to do on this release line; it may be empty.
	Instead string
}

// KnownAPIs returns the APIs of all release lines, sorted.
func KnownAPIs() []string { return slices.Sorted(maps.Keys(readIndex().APIs)) }

// Absent describes a known API that this release line does not have; false otherwise.
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
			absence.AddedIn = other
			break
		}
		if next := slices.Index(names, other) + 1; next < len(names) {
			absence.RemovedIn = names[next]
		}
	}
	return absence, true
}

// OtherToolGroup returns the name of a tool group on other release lines: "builtin::file_search" for "builtin::rag".
func OtherToolGroup(id string) (string, bool) {
	other, ok := readIndex().ToolGroups[id]
	return other, ok
}

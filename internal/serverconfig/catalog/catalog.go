// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed [0-9]*.yaml apis.yaml
var files embed.FS

// lines are the release lines by name, parsed on first use. Errors in the embedded files are bugs, and panic.
var lines = sync.OnceValue(func() map[string]func() *Line {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	byName := make(map[string]func() *Line, len(entries))
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".yaml"); name != "apis" {
			byName[name] = sync.OnceValue(func() *Line { return mustRead(entry.Name(), Parse) })
		}
	}
	return byName
})

func mustRead[T any](file string, parse func([]byte) (T, error)) T {
	data, err := files.ReadFile(file)
	if err != nil {
		panic(fmt.Sprintf("catalog: %v", err))
	}
	parsed, err := parse(data)
	if err != nil {
		panic(fmt.Sprintf("catalog: %s: %v", file, err))
	}
	return parsed
}

// Get returns the release line with that name, such as "0.7".
func Get(name string) (*Line, bool) {
	read, ok := lines()[name]
	if !ok {
		return nil, false
	}
	return read(), true
}

// Lines returns the names of all release lines, oldest first.
func Lines() []string { return slices.SortedFunc(maps.Keys(lines()), Compare) }

// Newest returns the name of the newest release line.
func Newest() string {
	names := Lines()
	return names[len(names)-1]
}

// VersionMatch relates a server version to the known release lines.
type VersionMatch int

const (
	// NoVersion means that the text names no version.
	NoVersion VersionMatch = iota
	// KnownLine means that the version belongs to a known release line.
	KnownLine
	// Newer means that the version is unknown, and newer than a known release line.
	Newer
	// TooOld means that the version is older than every known release line.
	TooOld
)

// version matches a server version, but not the tag 24.04 of an operating system or 20260101 of a build.
var version = regexp.MustCompile(`^v?(0|[1-9]\d{0,2})\.(0|[1-9]\d{0,2})(?:\D|$)`)

// ForVersion returns the release line of a server version such as "0.7.1", "v0.7.1" or "0.7.1-rc2", with the patches of
// the release. For an unknown version, it returns the newest release line before it (Newer), if any.
func ForVersion(text string) (*Line, VersionMatch) {
	parts := version.FindStringSubmatch(text)
	if parts == nil {
		return nil, NoVersion
	}
	name, names := parts[1]+"."+parts[2], Lines()
	at, known := slices.BinarySearchFunc(names, name, Compare)
	switch {
	case known:
		line, _ := Get(name)
		return line.At(text), KnownLine
	case at > 0:
		line, _ := Get(names[at-1])
		return line, Newer
	}
	return nil, TooOld
}

// release matches a release with its patch number.
var release = regexp.MustCompile(`^v?(\d{1,3}\.\d{1,3}\.\d{1,3})(?:\D|$)`)

// Predates reports whether a server release is of a newer, unknown release line, and whether it is later than Release.
// Both are false for a text without a release.
func (l *Line) Predates(text string) (newer, later bool) {
	if _, match := ForVersion(text); match != KnownLine {
		return match == Newer, match == Newer
	}
	parts := release.FindStringSubmatch(text)
	return false, parts != nil && l.Release != "" && Compare(parts[1], l.Release) > 0
}

// FirstLine returns the name of the oldest release line with the condition, or "".
func FirstLine(holds func(*Line) bool) string {
	for _, name := range Lines() {
		if line, _ := Get(name); holds(line) {
			return name
		}
	}
	return ""
}

// LinesWhere returns the release lines with the condition, oldest first.
func LinesWhere(holds func(*Line) bool) []string {
	return slices.DeleteFunc(Lines(), func(name string) bool {
		line, _ := Get(name)
		return !holds(line)
	})
}

// HasProvider returns the condition that a release line has a provider type of an API.
func HasProvider(api, providerType string) func(*Line) bool {
	return func(l *Line) bool {
		_, ok := l.Provider(api, providerType)
		return ok
	}
}

// Compare compares the names of release lines as numbers: 0.7 < 0.10 < 1.0.
func Compare(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

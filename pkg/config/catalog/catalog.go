// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed [0-9]*.yaml apis.yaml
var files embed.FS

// lines are the release lines by name. Each is read when it is asked for first: a process that serves one line reads one file.
// The files are part of the program and covered by its tests: a fault in them is a bug.
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

// Get returns the release line of that name, such as "0.7".
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

// ForVersion returns the release line of a server version such as "0.7.1", "v0.7.1" or "0.7.1-rc2".
func ForVersion(version string) (*Line, bool) {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor := rest
	if end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		minor = rest[:end]
	}
	return Get(major + "." + minor)
}

// LinesWith returns the release lines that know a provider type of an API, oldest first.
func LinesWith(api, providerType string) []string {
	var names []string
	for _, name := range Lines() {
		line, _ := Get(name)
		if _, ok := line.Provider(api, providerType); ok {
			names = append(names, name)
		}
	}
	return names
}

// Compare orders the names of release lines as numbers: 0.7 before 0.10 before 1.0.
func Compare(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
}

// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// ConfigOf returns a base configuration as JSON data.
func ConfigOf(base *serverconfig.Base) (any, error) { return document.Plain(base.Root()), nil }

var inProvider = regexp.MustCompile(`^providers\.(\w+)\[(.*)\]\.config\.(\w+)`)

// refersToBackend matches the path of a nested field that refers to a storage backend.
var refersToBackend = regexp.MustCompile(`\.(backend|namespace|table_name)$`)

// stateChanges returns the changes that move state: those of storage backends, stores, and provider fields that refer
// to a backend or a location on disk.
func stateChanges(changes []Change, lines ...*catalog.Line) []string {
	stateful, readdressed, removed := statefulFields(lines), addressChanges(changes), map[string]bool{}
	for _, c := range changes {
		if provider, ok := strings.CutSuffix(c.Path, ".provider_type"); ok && c.After == "" {
			removed[provider] = true
		}
	}
	var moved []string
	for _, c := range changes {
		m := inProvider.FindStringSubmatch(c.Path)
		locatesState := strings.HasPrefix(c.Path, "storage.") || len(m) > 3 &&
			(stateful[m[1]+" "+m[3]] || refersToBackend.MatchString(c.Path))
		if !locatesState || isCredential(c.Path) {
			continue
		}
		provider, _, _ := strings.Cut(c.Path, ".config.")
		if strings.TrimSuffix(c.Before, "?") == strings.TrimSuffix(c.After, "?") {
			continue // some release lines append "?" to the database name
		}
		backend := c.Path[:strings.LastIndex(c.Path, ".")]
		switch {
		case readdressed[backend] != "" && isAddress(c.Path):
			if text := backend + " names its database " + readdressed[backend]; !slices.Contains(moved, text) {
				moved = append(moved, text)
			}
		case c.Before == "":
			continue // new backends do not have state
		case removed[provider]:
			if text := provider + " is removed, and its stored data is left behind"; !slices.Contains(moved, text) {
				moved = append(moved, text)
			}
		case c.After == "":
			moved = append(moved, fmt.Sprintf("%s is removed (it was %s)", c.Path, c.Before))
		default:
			moved = append(moved, fmt.Sprintf("%s changes from %s to %s", c.Path, c.Before, c.After))
		}
	}
	return moved
}

// addressChanges returns the backends that switch between connection_string and separate fields.
func addressChanges(changes []Change) map[string]string {
	found := map[string]string{}
	for _, c := range changes {
		backend, ok := strings.CutSuffix(c.Path, ".connection_string")
		switch {
		case ok && c.Before == "":
			found[backend] = "in connection_string, no longer in host, port and db"
		case ok && c.After == "":
			found[backend] = "in host, port and db, no longer in connection_string"
		}
	}
	return found
}

// isAddress reports whether the field is part of a database address.
func isAddress(path string) bool {
	return slices.Contains([]string{"connection_string", "host", "port", "db"}, path[strings.LastIndex(path, ".")+1:])
}

// isCredential reports whether the field affects access to the state, not its location.
func isCredential(path string) bool {
	for _, end := range []string{".password", ".user", ".ssl_mode", ".ca_cert_path", ".pool_size", ".max_overflow"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// statefulFields returns the config fields, as "api field", that hold the location of state.
func statefulFields(lines []*catalog.Line) map[string]bool {
	found := map[string]bool{}
	for _, line := range lines {
		if line == nil {
			continue
		}
		for _, api := range slices.Sorted(maps.Keys(line.Rows)) {
			for i := range line.Rows[api] {
				row := &line.Rows[api][i]
				for name, field := range row.Fields {
					if field.Store != "" || name == row.DataPath {
						found[api+" "+name] = true
					}
				}
			}
		}
	}
	return found
}

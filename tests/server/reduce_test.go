// SPDX-License-Identifier: Apache-2.0

package server

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// unbootable is a row of unbootable.tsv.
type unbootable struct{ api, providerType, lines, missing string }

// unbootables returns the rows of a release line, or all rows if it is empty.
func unbootables(t *testing.T, line string) []unbootable {
	t.Helper()
	var rows []unbootable
	for _, c := range readTable(t, "unbootable.tsv", 4) {
		if line == "" || onLine(c[2], line) {
			rows = append(rows, unbootable{c[0], c[1], c[2], c[3]})
		}
	}
	return rows
}

// onLine reports whether a column "1.0,1.1" or "*" names the release line.
func onLine(column, line string) bool {
	return column == "*" || slices.Contains(strings.Split(column, ","), line)
}

func readTable(t *testing.T, file string, columns int) [][]string {
	t.Helper()
	content := framework.ReadFile(t, file)
	var rows [][]string
	for row := range strings.Lines(string(content)) {
		row = strings.TrimSuffix(row, "\n")
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		fields := strings.Split(row, "\t")
		if len(fields) != columns {
			t.Fatalf("%s: %d fields in %q, want %d", file, len(fields), row, columns)
		}
		rows = append(rows, fields)
	}
	return rows
}

// reduce removes the provider entries of the rows if they equal those of the base, with the base's references to them.
// It returns the removed entries.
func reduce(config, base map[string]any, rows []unbootable) (removed []string) {
	gone := map[string]bool{}
	for _, row := range rows {
		entries := list(config, "providers", row.api)
		kept := slices.DeleteFunc(slices.Clone(entries), func(entry any) bool {
			if str(entry, "provider_type") != row.providerType || !contains(list(base, "providers", row.api), entry) {
				return false
			}
			gone[str(entry, "provider_id")] = true
			removed = append(removed, row.api+"/"+str(entry, "provider_id")+" ("+row.missing+")")
			return true
		})
		if len(kept) < len(entries) {
			config["providers"].(map[string]any)[row.api] = kept
		}
		if len(kept) == 0 && len(entries) > 0 {
			delete(config["providers"].(map[string]any), row.api)
			config["apis"] = slices.DeleteFunc(list(config, "apis"), func(api any) bool { return api == row.api })
			removed = append(removed, row.api)
		}
	}
	resources, _ := config["registered_resources"].(map[string]any)
	for kind := range resources {
		resources[kind] = slices.DeleteFunc(list(resources, kind), func(entry any) bool {
			return gone[str(entry, "provider_id")] && contains(list(base, "registered_resources", kind), entry)
		})
	}
	stores, _ := config["vector_stores"].(map[string]any)
	for name, value := range stores {
		if of, _ := at(base, "vector_stores").(map[string]any); gone[str(value, "provider_id")] && reflect.DeepEqual(value, of[name]) {
			delete(stores, name)
		}
	}
	slices.Sort(removed)
	return removed
}

// at returns the value at a path of mappings, or nil.
func at(tree any, path ...string) any {
	for _, step := range path {
		m, _ := tree.(map[string]any)
		tree = m[step]
	}
	return tree
}

func list(tree any, path ...string) []any {
	l, _ := at(tree, path...).([]any)
	return l
}

func str(tree any, path ...string) string {
	s, _ := at(tree, path...).(string)
	return s
}

func contains(list []any, entry any) bool {
	return slices.ContainsFunc(list, func(each any) bool { return reflect.DeepEqual(each, entry) })
}

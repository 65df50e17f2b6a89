// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// patchReleases returns the older patch releases of each release line, newest first.
func patchReleases(file string) (map[string][]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	byLine := map[string][]string{}
	for row := range strings.Lines(string(data)) {
		if name, releases, ok := strings.Cut(row, "\t"); ok && !strings.HasPrefix(row, "#") {
			byLine[name] = strings.Fields(releases)
			slices.Reverse(byLine[name])
		}
	}
	return byLine, nil
}

// addPatches adds the differences of older patch releases, newest first, to a release line.
func addPatches(line *catalog.Line, older []*catalog.Line) error {
	newer, before := line, line.Release
	for _, o := range older {
		newerTree, err := toTree(newer)
		if err != nil {
			return err
		}
		tree, err := toTree(o)
		if err != nil {
			return err
		}
		changes := mergePatch(newerTree, tree)
		if _, ok := changes["release"]; !ok || len(changes) > 1 {
			line.Patches = append(line.Patches, catalog.Patch{Before: before, Changes: changes})
			newer = o
		}
		before = o.Release
	}
	return nil
}

// checkPatches returns an error if the patches of a release line do not give the catalog of its older releases.
func checkPatches(line *catalog.Line, older []*catalog.Line) error {
	for _, o := range older {
		at := *line.At(o.Release)
		at.Release = o.Release
		got, err := toTree(&at)
		if err != nil {
			return err
		}
		want, err := toTree(o)
		if err != nil {
			return err
		}
		delete(got, "patches")
		if d := mergePatch(got, want); len(d) > 0 {
			return fmt.Errorf("the patches do not reproduce release %s: %v", o.Release, d)
		}
	}
	return nil
}

func toTree(line *catalog.Line) (map[string]any, error) {
	data, err := yaml.Marshal(line)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	err = yaml.Unmarshal(data, &tree)
	return tree, err
}

// mergePatch returns the JSON merge patch from one tree to another, with lists of rows as maps by type.
func mergePatch(tree, other map[string]any) map[string]any {
	changes := map[string]any{}
	for name := range tree {
		if _, exists := other[name]; !exists {
			changes[name] = nil
		}
	}
	for name, value := range other {
		before, now := rowsByType(tree[name]), rowsByType(value)
		switch {
		case reflect.DeepEqual(tree[name], value):
		case before != nil && now != nil:
			changes[name] = mergePatch(before, now)
		default:
			changes[name] = value
		}
	}
	return changes
}

// rowsByType returns a map unchanged, a list of rows as a map by type, and nil for other values.
func rowsByType(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		return value
	case []any:
		rows := map[string]any{}
		for _, row := range value {
			fields, _ := row.(map[string]any)
			name, ok := fields["type"].(string)
			if !ok {
				return nil
			}
			rows[name] = row
		}
		return rows
	}
	return nil
}

func printPatches(w io.Writer, lines []*catalog.Line) {
	for _, line := range lines {
		for _, p := range line.Patches {
			_, _ = fmt.Fprintf(w, "release line %s before %s:\n", line.Name, p.Before)
			printChanges(w, "", p.Changes)
		}
	}
}

// compareWith prints the differences between a package that is newer than the catalog and the catalog.
func compareWith(ctx context.Context, w io.Writer, root, python string) error {
	over, err := readOverlay(filepath.Join(root, overlayFile))
	if err != nil {
		return err
	}
	introspected, err := readPackage(ctx, root, python)
	if err != nil {
		return err
	}
	known, _ := catalog.ForVersion(introspected.Release)
	if known == nil {
		return fmt.Errorf("release %s is older than the catalog", introspected.Release)
	}
	line, err := assemble(known.Name, introspected, over)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "release %s, compared with %s:\n", introspected.Release, known.Release)
	tree, err := toTree(known)
	if err != nil {
		return err
	}
	other, err := toTree(line)
	if err != nil {
		return err
	}
	delete(tree, "patches")
	printChanges(w, "", mergePatch(tree, other))
	return nil
}

func printChanges(w io.Writer, path string, changes map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		switch change := changes[name].(type) {
		case nil:
			_, _ = fmt.Fprintf(w, "  %s is missing\n", at)
		case map[string]any:
			printChanges(w, at, change)
		default:
			if at != "release" {
				_, _ = fmt.Fprintf(w, "  %s is %v\n", at, change)
			}
		}
	}
}

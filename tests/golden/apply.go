// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Check returns an error unless the encoded difference leads from the base to the configuration.
func Check(base, full, difference []byte) error {
	before, after, err := decodeBoth(base, full)
	if err != nil {
		return err
	}
	made, err := Apply(before, difference)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(made, after) {
		return fmt.Errorf("the base with the difference is %v, and the configuration is %v", made, after)
	}
	return nil
}

// Apply returns the configuration of a decoded base and an encoded difference. Unchanged values are shared with the
// base.
func Apply(base any, difference []byte) (any, error) {
	a := application{changed: map[string]any{}, added: map[string]fields{}}
	decoder := yaml.NewDecoder(bytes.NewReader(difference))
	decoder.KnownFields(true)
	if err := decoder.Decode(&a.Difference); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("difference: %w", err)
	}
	for _, f := range a.Changed {
		a.changed[f.path] = f.value
	}
	for _, f := range a.Added {
		at := lastStep.FindStringIndex(f.path)
		if at == nil {
			return nil, fmt.Errorf("%q is not a path", f.path)
		}
		parent := f.path[:at[0]]
		a.added[parent] = append(a.added[parent], field{nameOf(f.path[at[0]:]), f.value})
	}
	return a.apply("", base)
}

// application is a difference with its parts by path.
type application struct {
	Difference
	changed map[string]any
	// added are the new fields and items by the path of their map or list, each with its own name as path.
	added map[string]fields
}

func (a *application) apply(path string, before any) (any, error) {
	if value, ok := a.changed[path]; ok {
		return value, nil
	}
	switch before := before.(type) {
	case map[string]any:
		return a.applyMap(path, before)
	case []any:
		if ids, ok := identities(before); ok {
			return a.applyList(path, before, ids)
		}
	}
	return before, nil
}

func (a *application) applyMap(path string, before map[string]any) (any, error) {
	made := map[string]any{}
	for key, value := range before {
		step := path + keyStep(path, key)
		if slices.Contains(a.Removed, step) {
			continue
		}
		var err error
		if made[key], err = a.apply(step, value); err != nil {
			return nil, err
		}
	}
	for _, f := range a.added[path] {
		made[f.path] = f.value
	}
	return made, nil
}

func (a *application) applyList(path string, before []any, ids idList) (any, error) {
	made, names := []any{}, idList{}
	for i, id := range ids {
		step := path + itemStep(id)
		if slices.Contains(a.Removed, step) {
			continue
		}
		value, err := a.apply(step, before[i])
		if err != nil {
			return nil, err
		}
		made, names = append(made, value), append(names, id)
	}
	for _, f := range a.added[path] {
		made, names = append(made, f.value), append(names, f.path)
	}
	order, ok := a.Order[path]
	if !ok {
		return made, nil
	}
	sorted := make([]any, 0, len(made))
	for _, id := range order {
		at := slices.Index(names, id)
		if at < 0 || len(order) != len(made) {
			return nil, fmt.Errorf("the order of %s is %v, and its items are %v", path, order, names)
		}
		sorted = append(sorted, made[at])
	}
	return sorted, nil
}

var (
	plainKey = regexp.MustCompile(`^[\w-]+$`)
	lastStep = regexp.MustCompile(`(?:(?:^|\.)(?:[\w-]+|"(?:[^"\\]|\\.)*")|\[[^\[\]"\\]*\]|\["(?:[^"\\]|\\.)*"\])$`)
)

// keyStep returns the path step to a key of a map.
func keyStep(path, key string) string {
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return "." + key
}

// itemStep returns the path step to an item of a list.
func itemStep(id string) string {
	if strings.ContainsAny(id, `[]"\`) || strconv.Quote(id) != `"`+id+`"` {
		id = strconv.Quote(id)
	}
	return "[" + id + "]"
}

// nameOf returns the key or identity of a step.
func nameOf(step string) string {
	name := strings.TrimPrefix(step, ".")
	if strings.HasPrefix(name, "[") {
		name = name[1 : len(name)-1]
	}
	if unquoted, err := strconv.Unquote(name); err == nil {
		return unquoted
	}
	return name
}

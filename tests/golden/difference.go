// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Difference changes a base into a configuration. Its parts are applied in this order.
type Difference struct {
	Removed []string          `yaml:"removed,omitempty"`
	Changed fields            `yaml:"changed,omitempty"`
	Added   fields            `yaml:"added,omitempty"`
	Order   map[string]idList `yaml:"order,omitempty"`
}

// fields are values by path, in the order of the comparison.
type fields []field

type field struct {
	path  string
	value any
}

type idList []string

// Diff compares the values of two YAML documents.
func Diff(base, full []byte) (*Difference, error) {
	before, after, err := decodeBoth(base, full)
	if err != nil {
		return nil, err
	}
	d := &Difference{}
	d.compare("", before, after)
	return d, nil
}

func (d *Difference) compare(path string, before, after any) {
	switch after := after.(type) {
	case map[string]any:
		if before, ok := before.(map[string]any); ok {
			d.compareMaps(path, before, after)
			return
		}
	case []any:
		before, isList := before.([]any)
		oldIDs, oldOK := identities(before)
		newIDs, newOK := identities(after)
		if isList && oldOK && newOK {
			d.compareLists(path, before, after, oldIDs, newIDs)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		d.Changed = append(d.Changed, field{path, after})
	}
}

func (d *Difference) compareMaps(path string, before, after map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[key]; !there {
			d.Removed = append(d.Removed, path+keyStep(path, key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		step := path + keyStep(path, key)
		if old, there := before[key]; there {
			d.compare(step, old, after[key])
		} else {
			d.Added = append(d.Added, field{step, after[key]})
		}
	}
}

func (d *Difference) compareLists(path string, before, after []any, oldIDs, newIDs idList) {
	expected := idList{}
	for _, id := range oldIDs {
		if slices.Contains(newIDs, id) {
			expected = append(expected, id)
		} else {
			d.Removed = append(d.Removed, path+itemStep(id))
		}
	}
	for i, id := range newIDs {
		if at := slices.Index(oldIDs, id); at >= 0 {
			d.compare(path+itemStep(id), before[at], after[i])
			continue
		}
		d.Added = append(d.Added, field{path + itemStep(id), after[i]})
		expected = append(expected, id)
	}
	if !slices.Equal(expected, newIDs) {
		if d.Order == nil {
			d.Order = map[string]idList{}
		}
		d.Order[path] = newIDs
	}
}

// effective matches the id of a provider that depends on a variable: vllm in ${env.VLLM_URL:+vllm}.
var effective = regexp.MustCompile(`^\$\{env\.\w+:\+([^{}]*)\}$`)

// idKeys are the keys that name an item of a list, the most specific first.
var idKeys = []string{
	"model_id", "shield_id", "toolgroup_id", "vector_store_id", "dataset_id", "connector_id", "scoring_fn_id", "benchmark_id", "provider_id",
}

// identities returns the identity of each item: its id, a scalar itself, or else its position; equal ones get a number.
// It returns false if they are still not unique.
func identities(list []any) (idList, bool) {
	ids := make(idList, 0, len(list))
	seen := map[string]int{}
	for i, item := range list {
		id := identity(i, item)
		seen[id]++
		if seen[id] > 1 {
			id = fmt.Sprintf("%s (%d)", id, seen[id])
		}
		if slices.Contains(ids, id) {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

func identity(index int, item any) string {
	switch item := item.(type) {
	case string:
		return item
	case map[string]any:
		for _, key := range idKeys {
			id, ok := item[key].(string)
			if !ok {
				continue
			}
			if match := effective.FindStringSubmatch(id); match != nil {
				return match[1]
			}
			return id
		}
	}
	return fmt.Sprintf("item %d", index+1)
}

// Encode writes a difference as YAML below a comment.
func (d *Difference) Encode(comment string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", comment)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// MarshalYAML writes a map in the order of the fields.
func (f fields) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, each := range f {
		key, value := &yaml.Node{}, &yaml.Node{}
		key.SetString(each.path)
		if err := value.Encode(each.value); err != nil {
			return nil, err
		}
		node.Content = append(node.Content, key, value)
	}
	return node, nil
}

// UnmarshalYAML reads a map in its order.
func (f *fields) UnmarshalYAML(node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		each := field{path: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&each.value); err != nil {
			return err
		}
		*f = append(*f, each)
	}
	return nil
}

// MarshalYAML writes the identities on one line.
func (ids idList) MarshalYAML() (any, error) {
	node := &yaml.Node{}
	if err := node.Encode([]string(ids)); err != nil {
		return nil, err
	}
	node.Style = yaml.FlowStyle
	return node, nil
}

func decodeBoth(base, full []byte) (before, after any, err error) {
	if err := yaml.Unmarshal(base, &before); err != nil {
		return nil, nil, fmt.Errorf("base: %w", err)
	}
	if err := yaml.Unmarshal(full, &after); err != nil {
		return nil, nil, fmt.Errorf("configuration: %w", err)
	}
	return before, after, nil
}

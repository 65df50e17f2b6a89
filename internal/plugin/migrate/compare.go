// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/redact"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// fileComparison compares the user's own configuration with the one that is generated from the spec.
type fileComparison struct {
	// added are parts that the distribution adds, missing those that it does not have, and different the other changes.
	added, missing, different []string
	// state are changes of the place where the server's state is.
	state    []string
	restarts bool
}

// namesOnly are top-level fields that say nothing about what the server does.
var namesOnly = []string{"version", "image_name", "distro_name", "container_image", "apis"}

// compareFile compares the effective configurations before and after. It skips the given backends, which name the same
// database in another way.
func compareFile(before, after *offline.Resource, line *catalog.Line, backends []string) (*fileComparison, error) {
	old, err := effectiveConfig(before)
	if err != nil {
		return nil, err
	}
	now, err := effectiveConfig(after)
	if err != nil {
		return nil, err
	}
	c := &fileComparison{}
	c.providers(old, now, line)
	dropStoreDefaults(old, line)
	dropStoreDefaults(now, line)
	c.sections("registered_resources.", registered(old, line), registered(now, line))
	for _, name := range namesOnly {
		delete(old, name)
		delete(now, name)
	}
	delete(old, "providers")
	delete(now, "providers")
	delete(old, "registered_resources")
	delete(now, "registered_resources")
	dropServerDefaults(old)
	dropServerDefaults(now)
	c.sections("", old, now)
	report, err := difference.Between(before.Desired, after.Desired)
	if err != nil {
		return nil, err
	}
	c.state, c.restarts = report.State, len(report.Restart) > 0
	for _, list := range []*[]string{&c.added, &c.missing, &c.different, &c.state} {
		*list = slices.DeleteFunc(*list, func(line string) bool {
			return slices.ContainsFunc(backends, func(backend string) bool { return strings.HasPrefix(line, backend) })
		})
	}
	c.different = slices.DeleteFunc(c.different, func(line string) bool {
		at, _, _ := strings.Cut(line, " is ")
		return slices.ContainsFunc(c.state, func(state string) bool { return strings.HasPrefix(state, at+" ") })
	})
	return c, nil
}

func effectiveConfig(r *offline.Resource) (map[string]any, error) {
	tree, err := difference.Effective(r.Desired)
	if err != nil {
		return nil, err
	}
	root, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("the configuration is not a map")
	}
	return maps.Clone(root), nil
}

// sections compares maps. A part that one of them lacks is one line.
func (c *fileComparison) sections(path string, old, now map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(now))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, was := old[name].(map[string]any)
		after, is := now[name].(map[string]any)
		changes := difference.CompareTrees(map[string]any{name: old[name]}, map[string]any{name: now[name]})
		changes = slices.DeleteFunc(changes, func(change difference.Change) bool {
			return isEmptyList(change) || isNothing(change.Before, change.After)
		})
		switch {
		case len(changes) == 0:
		case was && is:
			c.sections(path+name+".", before, after)
		case old[name] == nil:
			c.added = append(c.added, path+name)
		case now[name] == nil:
			c.missing = append(c.missing, path+name)
		default:
			for _, change := range changes {
				c.differs(path+change.Path, change)
			}
		}
	}
}

func isNothing(before, after string) bool {
	nothing := []string{"", "null", "{}", `""`}
	return slices.Contains(nothing, before) && slices.Contains(nothing, after)
}

func (c *fileComparison) differs(path string, change difference.Change) {
	c.different = append(c.different, path+" is "+orAbsent(change.After)+", and was "+orAbsent(change.Before))
}

// providers compares the providers of all APIs by id.
func (c *fileComparison) providers(old, now map[string]any, line *catalog.Line) {
	before, after := providerItems(old), providerItems(now)
	c.added = append(c.added, byAPI(after, before)...)
	c.missing = append(c.missing, byAPI(before, after)...)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		entry := after[key]
		was, exists := before[key]
		if !exists {
			continue
		}
		path := "providers." + key
		if was["provider_type"] != entry["provider_type"] {
			c.different = append(c.different, fmt.Sprintf("%s is of type %v, and was of type %v", path, entry["provider_type"],
				was["provider_type"]))
		}
		for _, change := range configChanges(key, was, entry, line) {
			c.differs(path+".config."+change.Path, change)
		}
	}
}

// configChanges returns how the config of a provider, as API[id], changes. It skips the server's defaults and
// credentials.
func configChanges(key string, was, entry map[string]any, line *catalog.Line) []difference.Change {
	api, _, _ := strings.Cut(key, "[")
	row, _ := line.Provider(api, fmt.Sprint(entry["provider_type"]))
	return slices.DeleteFunc(difference.CompareTrees(was["config"], entry["config"]), func(change difference.Change) bool {
		return isNothing(change.Before, change.After) || isDefault(line, row, change) || isAppended(change) ||
			isCredential(change)
	})
}

// byAPI returns a line for each API with its providers that the others lack.
func byAPI(items, others map[string]map[string]any) []string {
	var lines []string
	last := ""
	for _, key := range slices.Sorted(maps.Keys(items)) {
		if _, exists := others[key]; exists {
			continue
		}
		api, id, _ := strings.Cut(strings.TrimSuffix(key, "]"), "[")
		if api != last {
			lines, last = append(lines, "providers."+api+": "+id), api
			continue
		}
		lines[len(lines)-1] += ", " + id
	}
	return lines
}

// isDefault reports whether the change is between no value and the server's default.
func isDefault(line *catalog.Line, row *catalog.Provider, change difference.Change) bool {
	if row == nil || change.Before != "" && change.After != "" {
		return false
	}
	fields, field := row.Fields, catalog.Field{}
	for name := range strings.SplitSeq(change.Path, ".") {
		field = fields[name]
		fields = line.Objects[field.Object]
	}
	return field.Default != nil && fmt.Sprint(field.Default) == strings.Trim(change.Before+change.After, `"`)
}

// dropServerDefaults removes what the operator writes into the section server of each configuration.
func dropServerDefaults(tree map[string]any) {
	server := maps.Clone(section(tree, "server"))
	delete(server, "insecure")
	if fmt.Sprint(server["port"]) == strconv.Itoa(int(v1alpha2.DefaultPort)) {
		delete(server, "port")
	}
	delete(tree, "server")
	if len(server) > 0 {
		tree["server"] = server
	}
}

// dropStoreDefaults removes the server's defaults from the stores of a configuration.
func dropStoreDefaults(tree map[string]any, line *catalog.Line) {
	storage := maps.Clone(section(tree, "storage"))
	stores := maps.Clone(section(storage, "stores"))
	for name := range stores {
		store := maps.Clone(section(stores, name))
		for field, value := range store {
			fallback := line.Objects[line.Stores[name].Object][field].Default
			if fallback != nil && fmt.Sprint(fallback) == fmt.Sprint(value) {
				delete(store, field)
			}
		}
		stores[name] = store
	}
	if len(stores) > 0 {
		storage["stores"] = stores
		tree["storage"] = storage
	}
}

// section returns a map below a map; nil if it is absent.
func section(tree map[string]any, name string) map[string]any {
	found, _ := tree[name].(map[string]any)
	return found
}

// isCredential reports whether a credential has a Secret in place of a value.
func isCredential(change difference.Change) bool {
	return change.Before == redact.Hidden && change.After == redact.Hidden
}

// isAppended reports whether only the API's path was appended to an endpoint.
func isAppended(change difference.Change) bool {
	rest, longer := strings.CutPrefix(change.After, strings.TrimSuffix(change.Before, "/"))
	return change.Before != "" && longer && strings.HasPrefix(rest, "/")
}

func providerItems(tree map[string]any) map[string]map[string]any {
	items := map[string]map[string]any{}
	providers := section(tree, "providers")
	for api, list := range providers {
		entries, _ := list.([]any)
		for _, each := range entries {
			entry, _ := each.(map[string]any)
			items[fmt.Sprintf("%s[%v]", api, entry["provider_id"])] = entry
		}
	}
	return items
}

// idFields are the fields with the id of a registered resource.
var idFields = []string{
	"model_id", "shield_id", "toolgroup_id", "vector_store_id", "dataset_id", "benchmark_id", "scoring_fn_id",
}

// registered returns the registered resources by list and id. Fields with the server's default are left out.
func registered(tree map[string]any, line *catalog.Line) map[string]any {
	lists := section(tree, "registered_resources")
	byID := map[string]any{}
	for name, list := range lists {
		items, _ := list.([]any)
		fields, _ := line.ResourceFields(name)
		found := map[string]any{}
		for i, each := range items {
			item, _ := each.(map[string]any)
			item = maps.Clone(item)
			key := strconv.Itoa(i)
			for _, field := range idFields {
				if id, ok := item[field].(string); ok {
					key = id
				}
			}
			for field, value := range item {
				if fallback := fields[field].Default; fallback != nil && fmt.Sprint(fallback) == fmt.Sprint(value) {
					delete(item, field)
				}
			}
			if _, twice := found[key]; twice {
				key = fmt.Sprintf("%s (%v)", key, item["provider_id"])
			}
			found[key] = item
		}
		if len(found) > 0 {
			byID[name] = found
		}
	}
	return byID
}

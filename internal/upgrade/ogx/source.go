// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// APIVersion and Kind identify OGXServer.
const (
	APIVersion = "ogx.io/v1beta1"
	Kind       = "OGXServer"
)

// Finding is a field that the other kind cannot express, or whose converted value needs a check.
type Finding struct {
	// Path is the field, such as "spec.workload.scheduling".
	Path string
	// Lost is the type of the lost value, such as "object"; empty if nothing is lost.
	Lost string
	// Refused means that the API server refuses the result, because the input is not valid either.
	Refused bool
	// Detail is the reason and Fix the remedy.
	Detail, Fix string
}

// source is an object under conversion. Converted fields are removed; the remaining ones are lost.
type source struct {
	tree map[string]any
	// opened are the objects with converted fields, whose remaining members are reported one by one.
	opened   map[string]bool
	unsaid   []unsaid
	findings []Finding
}

func newSource(object map[string]any, unsaid []unsaid) *source {
	return &source{tree: runtime.DeepCopyJSON(object), opened: map[string]bool{"": true}, unsaid: unsaid}
}

// at returns the object at a path; nil if it does not exist.
func (s *source) at(path ...string) map[string]any {
	current := s.tree
	for i, name := range path {
		s.opened[strings.Join(path[:i+1], ".")] = true
		next, ok := current[name].(map[string]any)
		if !ok {
			return nil
		}
		current = next
	}
	return current
}

// take removes and returns the value at a path if it has the type.
func take[T any](s *source, path string) (value T, found bool) {
	names := strings.Split(path, ".")
	parent, name := s.at(names[:len(names)-1]...), names[len(names)-1]
	value, found = parent[name].(T)
	if found {
		delete(parent, name)
	}
	return value, found
}

// lose records the loss of a value. An empty detail or fix is that of the table of unsaid fields.
func (s *source) lose(path string, value any, detail, fix string) {
	reason := reasonFor(s.unsaid, path)
	if detail == "" {
		detail = reason.detail
	}
	if fix == "" {
		fix = reason.fix
	}
	s.findings = append(s.findings, Finding{Path: path, Lost: typeOf(value), Detail: detail, Fix: fix})
}

// review records that a converted value needs a check.
func (s *source) review(path, detail, fix string) {
	s.findings = append(s.findings, Finding{Path: path, Detail: detail, Fix: fix})
}

// drop records the loss of the value at a path, if there is one.
func (s *source) drop(path string) {
	if value, found := take[any](s, path); found && value != nil {
		s.lose(path, value, "", "")
	}
}

// rest returns all findings, including one for each remaining value. Null values are ignored.
func (s *source) rest() []Finding {
	s.collect("", s.tree)
	slices.SortStableFunc(s.findings, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return s.findings
}

func (s *source) collect(path string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		at := memberPath(path, name)
		switch members, isObject := tree[name].(map[string]any); {
		case tree[name] == nil:
		case isObject && s.opened[at]:
			s.collect(at, members)
		default:
			s.lose(at, tree[name], "", "")
		}
	}
}

// typeOf returns the JSON type of a value; "value" for an unknown one.
func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "value"
	case map[string]any:
		return "object"
	case []any:
		return "list"
	case string:
		return "string"
	case bool:
		return "boolean"
	default:
		return "number"
	}
}

// isEmpty reports whether a value is empty, which means absent in most fields of both kinds.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	}
	return false
}

func put(object map[string]any, path string, value any) {
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	object[names[len(names)-1]] = value
}

// get returns the value at a path without list indexes, or nil.
func get(object map[string]any, path string) any {
	var value any = object
	for name := range strings.SplitSeq(path, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

// remove removes and returns the value at a place; nil if there is none.
func remove(object map[string]any, at place) any {
	var holder any = object
	replace := func(any) {} // replaces the holder in its own holder
	for i, part := range at {
		last := i == len(at)-1
		switch current := holder.(type) {
		case map[string]any:
			name, _ := part.(string)
			value := current[name]
			if last {
				delete(current, name)
				return value
			}
			holder, replace = value, func(value any) { current[name] = value }
		case []any:
			n, isIndex := part.(int)
			if !isIndex || n >= len(current) {
				return nil
			}
			value := current[n]
			if last {
				replace(slices.Delete(current, n, n+1))
				return value
			}
			holder, replace = value, func(value any) { current[n] = value }
		default:
			return nil
		}
	}
	return nil
}

func metadata(s *source, to map[string]any) {
	for _, name := range []string{"name", "namespace", "generateName", "labels", "annotations"} {
		if value, found := take[any](s, "metadata."+name); found && value != nil {
			put(to, "metadata."+name, value)
		}
	}
	for _, name := range []string{"metadata", "status", "apiVersion", "kind"} {
		delete(s.tree, name)
	}
	if annotations, ok := to["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
}

// equivalentFields lists equivalent fields: of LlamaStackDistribution, then of OGXServer.
var equivalentFields = [][2]string{
	{"spec.distribution.name", "spec.distribution.name"},
	{"spec.distribution.image", "spec.distribution.image"},
	{"spec.networking.port", "spec.network.port"},
	{"spec.monitoring.enabled", "spec.monitoring.enabled"},
	{"spec.monitoring.metricsPort", "spec.monitoring.metricsPort"},
	{"spec.storage.kv.type", "spec.storage.kv.type"},
	{"spec.storage.kv.endpoint", "spec.storage.kv.endpoint"},
	{"spec.storage.sql.type", "spec.storage.sql.type"},
	{"spec.workload.replicas", "spec.workload.replicas"},
	{"spec.workload.workers", "spec.workload.workers"},
	{"spec.workload.resources", "spec.workload.resources"},
	{"spec.workload.autoscaling.minReplicas", "spec.workload.autoscaling.minReplicas"},
	{"spec.workload.autoscaling.maxReplicas", "spec.workload.autoscaling.maxReplicas"},
	{
		"spec.workload.autoscaling.targetCPUUtilizationPercentage",
		"spec.workload.autoscaling.targetCPUUtilizationPercentage",
	},
	{
		"spec.workload.autoscaling.targetMemoryUtilizationPercentage",
		"spec.workload.autoscaling.targetMemoryUtilizationPercentage",
	},
	{"spec.workload.storage.size", "spec.workload.storage.size"},
	{"spec.workload.podDisruptionBudget", "spec.workload.podDisruptionBudget"},
	{"spec.workload.topologySpreadConstraints", "spec.workload.topologySpreadConstraints"},
	{"spec.workload.resourceClaims", "spec.workload.resourceClaims"},
	{"spec.workload.overrides.serviceAccountName", "spec.workload.overrides.serviceAccountName"},
	{"spec.workload.overrides.env", "spec.workload.overrides.env"},
	{"spec.workload.overrides.command", "spec.workload.overrides.command"},
	{"spec.workload.overrides.args", "spec.workload.overrides.args"},
	{"spec.workload.overrides.volumes", "spec.workload.overrides.volumes"},
	{"spec.workload.overrides.volumeMounts", "spec.workload.overrides.volumeMounts"},
}

// moveFields moves the equivalent fields; from and to are columns of equivalentFields. Empty values mean absent.
func moveFields(s *source, object map[string]any, from, to int) {
	for _, pair := range equivalentFields {
		if value, found := take[any](s, pair[from]); found && !isEmpty(value) {
			put(object, pair[to], value)
		}
	}
}

// storageTypes writes the default type of a storage backend: an empty backend is not an omitted one.
func storageTypes(s *source, object map[string]any) {
	for _, backend := range []string{"kv", "sql"} {
		path := "spec.storage." + backend
		if _, given := get(s.tree, path).(map[string]any); given && get(object, path+".type") == nil {
			put(object, path+".type", "sqlite")
		}
	}
}

// moveReferences moves the references to Secrets of the storage backends.
func moveReferences(s *source, object map[string]any) {
	for _, path := range []string{"spec.storage.kv.password", "spec.storage.sql.connectionString"} {
		if value, found := take[map[string]any](s, path); found {
			if ref, ok := reference(value); ok {
				put(object, path, ref)
			} else if len(value) > 0 {
				s.lose(path, value, "is not a reference to a Secret with name and key", "set both")
			}
		}
	}
}

// mountPath keeps the mount path of the PVC, because the two kinds have different defaults.
func mountPath(s *source, object map[string]any, own, other string) {
	parent := s.at("spec", "workload")
	storage, ok := parent["storage"].(map[string]any)
	if !ok {
		return
	}
	path, found := take[string](s, "spec.workload.storage.mountPath")
	if !found || path == "" {
		path = own
	}
	if path != other {
		put(object, "spec.workload.storage.mountPath", path)
	} else if get(object, "spec.workload.storage") == nil {
		put(object, "spec.workload.storage", map[string]any{}) // an empty storage requests a PVC
	}
	if len(storage) == 0 {
		delete(parent, "storage")
	}
}

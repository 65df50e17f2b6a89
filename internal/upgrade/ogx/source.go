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

// Loss is a field that the other kind cannot express.
type Loss struct {
	// Path is the field, such as "spec.workload.scheduling".
	Path string
	// Detail is the reason and Fix the remedy; both may be empty.
	Detail, Fix string
}

// source is an object under conversion. Converted fields are removed; the remaining ones are lost.
type source struct {
	tree map[string]any
	// opened are the objects with converted fields, whose remaining members are reported one by one.
	opened map[string]bool
	losses []Loss
}

func newSource(object map[string]any) *source {
	return &source{tree: runtime.DeepCopyJSON(object), opened: map[string]bool{"": true}}
}

// at returns the object at a path; nil if it does not exist.
func (s *source) at(path []string) map[string]any {
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
	parent, name := s.at(names[:len(names)-1]), names[len(names)-1]
	value, found = parent[name].(T)
	if found {
		delete(parent, name)
	}
	return value, found
}

// drop records a Loss for the value at a path.
func (s *source) drop(path, detail, fix string) {
	if _, found := take[any](s, path); found {
		s.losses = append(s.losses, Loss{path, detail, fix})
	}
}

// rest returns all losses, including one for each remaining value. Null values are ignored.
func (s *source) rest() []Loss {
	s.collect("", s.tree)
	slices.SortStableFunc(s.losses, func(a, b Loss) int { return strings.Compare(a.Path, b.Path) })
	return s.losses
}

func (s *source) collect(path string, tree map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		switch members, isObject := tree[name].(map[string]any); {
		case tree[name] == nil:
		case isObject && s.opened[at]:
			s.collect(at, members)
		default:
			s.losses = append(s.losses, Loss{Path: at})
		}
	}
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
	{"spec.disabled", "spec.disabledAPIs"},
	{"spec.networking.port", "spec.network.port"},
	{"spec.monitoring.enabled", "spec.monitoring.enabled"},
	{"spec.monitoring.metricsPort", "spec.monitoring.metricsPort"},
	{"spec.storage.kv.type", "spec.storage.kv.type"},
	{"spec.storage.kv.endpoint", "spec.storage.kv.endpoint"},
	{"spec.storage.sql.type", "spec.storage.sql.type"},
	{"spec.workload.replicas", "spec.workload.replicas"},
	{"spec.workload.workers", "spec.workload.workers"},
	{"spec.workload.resources", "spec.workload.resources"},
	{"spec.workload.autoscaling", "spec.workload.autoscaling"},
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

// moveFields moves the equivalent fields; from and to are columns of equivalentFields.
func moveFields(s *source, object map[string]any, from, to int) {
	for _, pair := range equivalentFields {
		if value, found := take[any](s, pair[from]); found && value != nil {
			put(object, pair[to], value)
		}
	}
}

// mountPath keeps the mount path of the PVC, because the two kinds have different defaults.
func mountPath(s *source, object map[string]any, own, other string) {
	parent := s.at([]string{"spec", "workload"})
	storage, ok := parent["storage"].(map[string]any)
	if !ok {
		return
	}
	path, found := take[string](s, "spec.workload.storage.mountPath")
	if !found {
		path = own
	}
	if path != other {
		put(object, "spec.workload.storage.mountPath", path)
	} else if at, _ := object["spec"].(map[string]any)["workload"].(map[string]any); at["storage"] == nil {
		put(object, "spec.workload.storage", map[string]any{}) // an empty storage requests a PVC
	}
	if len(storage) == 0 {
		delete(parent, "storage")
	}
}

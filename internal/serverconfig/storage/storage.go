// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

const (
	pathKV  = "spec.storage.kv"
	pathSQL = "spec.storage.sql"
)

// step is the state of Apply.
type step struct {
	doc      *document.Document
	line     *catalog.Line
	env      *environment.Set
	problems *problem.Collector
	// configured are the names of the backends that the spec configures.
	configured map[string]bool
}

// backend is the setting of the spec for the backends of one kind.
type backend struct {
	kind catalog.StoreKind
	path string
	// backendType is the type of the backend: "kv_redis".
	backendType string
	// fields returns the fields of the backend with that name.
	fields func(name string) []entryField
}

type entryField struct {
	name  string
	value *yaml.Node
}

// Apply sets type and fields of the backends that the spec configures, and returns their unchanged names. A base
// without section storage gets the server's defaults, because some releases cannot start without the section.
func Apply(
	doc *document.Document, line *catalog.Line, spec *v1alpha2.StateStorageSpec, env *environment.Set,
	problems *problem.Collector,
) map[string]bool {
	if spec == nil {
		spec = &v1alpha2.StateStorageSpec{}
	}
	s := &step{doc: doc, line: line, env: env, problems: problems, configured: map[string]bool{}}
	if doc.Section("storage") != nil && spec.KV == nil && spec.SQL == nil {
		return s.configured
	}
	storage := document.Ensure(doc.Root(), "storage", yaml.MappingNode)
	backends := document.Ensure(storage, "backends", yaml.MappingNode)
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		if len(backendsOf(backends, kind)) == 0 {
			name := defaultName(kind)
			document.Set(backends, name, backendNode(nil, SQLiteType(kind), sqliteFields(name)))
		}
	}
	var desired []*backend
	if spec.KV != nil {
		desired = append(desired, s.kvBackend(spec.KV))
	}
	if spec.SQL != nil {
		desired = append(desired, s.sqlBackend(spec.SQL))
	}
	s.completeStores(document.Ensure(storage, "stores", yaml.MappingNode), backends)
	for _, b := range desired {
		if b != nil {
			s.replaceBackends(backends, b)
		}
	}
	switch {
	case spec.KV == nil && spec.SQL != nil:
		s.warnUnsetAddress(backends, catalog.KV, "kv: {} for SQLite, or configure Redis or PostgreSQL")
	case spec.SQL == nil && spec.KV != nil:
		s.warnUnsetAddress(backends, catalog.SQL, "sql: {} for SQLite, or configure PostgreSQL")
	}
	return s.configured
}

// warnUnsetAddress warns if the spec moves only the other backend, and this one's address is in an unset variable.
func (s *step) warnUnsetAddress(backends *yaml.Node, kind catalog.StoreKind, instead string) {
	for _, name := range backendsOf(backends, kind) {
		for _, address := range []string{"host", "connection_string"} {
			refs := document.References(document.Text(document.Child(document.Child(backends, name), address)))
			if len(refs) == 0 || s.env.Given()[refs[0].Name] {
				continue
			}
			s.problems.Add(problem.Problem{
				Reason: problem.UndefinedVariable, Severity: problem.Warning, Path: "spec.storage." + string(kind),
				Detail: fmt.Sprintf("is absent, so the backend %s of the base configuration uses the environment variable %s, "+
					"which the spec does not set", name, refs[0].Name),
				Fix: "write " + instead + ", or set the variable in spec.workload.overrides.env",
			})
			return
		}
	}
}

// replaceBackends replaces every backend of the kind by that of the spec.
func (s *step) replaceBackends(backends *yaml.Node, b *backend) {
	names := backendsOf(backends, b.kind)
	for _, name := range names {
		s.configured[name] = true
		old := document.Child(backends, name)
		if b.backendType == SQLiteType(b.kind) && document.Text(document.Child(old, "type")) == b.backendType {
			continue // keep SQLite with its own file
		}
		document.Set(backends, name, backendNode(old, b.backendType, b.fields(name)))
	}
	if b.backendType != SQLiteType(b.kind) {
		s.rejectShared(b, names)
	}
}

// rejectShared reports storage locations of several backends that would collide in the new database.
func (s *step) rejectShared(b *backend, names []string) {
	type use struct{ backend, path string }
	first := map[string]use{}
	check := func(path, backend, location string) {
		if !slices.Contains(names, backend) {
			return
		}
		before, seen := first[location]
		if !seen {
			first[location] = use{backend, path}
			return
		}
		if before.backend != backend {
			s.problems.Add(problem.Problem{
				Reason: problem.SharedStorageLocation, Path: b.path, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("makes one database of the backends %s and %s of the base configuration %s, in which %s and "+
					"%s would both be kept as %q",
					before.backend, backend, s.doc.Base().Name(), before.path, path, location),
				Fix: "set another " + b.kind.LocationField() + " for one of them in the base configuration",
			})
		}
	}
	visitReferences(s.doc.Stores(), "storage.stores", b.kind, check)
	visitReferences(s.doc.Section("providers"), "providers", b.kind, check)
}

// visitReferences calls visit for each reference to a backend of the kind in a tree.
func visitReferences(n *yaml.Node, path string, kind catalog.StoreKind, visit func(path, backend, location string)) {
	for i, item := range document.Items(n) {
		visitReferences(item, fmt.Sprintf("%s[%d]", path, i), kind, visit)
	}
	backend, location := document.Text(
		document.Child(n, "backend"),
	), document.Text(
		document.Child(n, kind.LocationField()),
	)
	if backend != "" && location != "" {
		visit(path, backend, location)
	}
	for _, key := range document.Keys(n) {
		visitReferences(document.Child(n, key), path+"."+key, kind, visit)
	}
}

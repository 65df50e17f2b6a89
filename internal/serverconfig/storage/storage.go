// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"regexp"
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
	pathKV       = "spec.storage.kv"
	pathSQL      = "spec.storage.sql"
	pathBackends = "spec.storage.backends"
	pathStores   = "spec.storage.stores"
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

type entryField struct {
	name  string
	value *yaml.Node
}

// Apply sets type and fields of the backends that the spec configures, and returns their names, and assigns the stores.
// A base without section storage gets the server's defaults, because some releases cannot start without the section.
func Apply(
	doc *document.Document, line *catalog.Line, spec *v1alpha2.StateStorageSpec, env *environment.Set,
	problems *problem.Collector,
) map[string]bool {
	if spec == nil {
		spec = &v1alpha2.StateStorageSpec{}
	}
	s := &step{doc: doc, line: line, env: env, problems: problems, configured: map[string]bool{}}
	desired := Backends(spec)
	if doc.Section("storage") != nil && len(desired) == 0 && len(spec.Stores) == 0 {
		return s.configured
	}
	if (spec.KV != nil || spec.SQL != nil) && len(spec.Backends)+len(spec.Stores) > 0 {
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: "spec.storage", Type: field.ErrorTypeForbidden,
			Detail: "kv and sql cannot be combined with backends and stores", Fix: "use one of the two forms",
		})
		return s.configured
	}
	storage := document.Ensure(doc.Root(), "storage", yaml.MappingNode)
	backends := document.Ensure(storage, "backends", yaml.MappingNode)
	for i := range desired {
		if b := &desired[i]; b.name != "" {
			s.nameBackend(backends, b)
		}
	}
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		if len(backendsOf(backends, kind)) == 0 {
			name := defaultName(kind)
			document.Set(backends, name, backendNode(nil, SQLiteType(kind), sqliteFields(name)))
		}
	}
	stores := document.Ensure(storage, "stores", yaml.MappingNode)
	s.completeStores(stores, backends)
	for i := range desired {
		if b := &desired[i]; b.name == "" {
			s.replaceBackends(backends, b)
		}
	}
	s.assignStores(stores, backends, spec.Stores)
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

// nameBackend sets the backend with the name of the spec's.
func (s *step) nameBackend(backends *yaml.Node, b *Backend) {
	fields, ok := s.fieldsOf(b)
	if !ok {
		return
	}
	if !backendName.MatchString(b.name) {
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: b.Path, Type: field.ErrorTypeInvalid, Value: b.name,
			Detail: "is not a valid name of a backend", Fix: "use letters, digits, '-' and '_', and begin with a letter",
		})
		return
	}
	old := document.Child(backends, b.name)
	if kind := kindOf(document.Text(document.Child(old, "type"))); kind != "" && kind != b.kind || isDefaultOfOther(b) {
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: b.Path + ".type", Type: field.ErrorTypeInvalid, Value: b.Type,
			Detail: "is of another kind than the backend " + b.name + ", which stores of the server use",
			Fix:    "choose a type of its kind, or another name",
		})
		return
	}
	s.configured[b.name] = true
	document.Set(backends, b.name, backendNode(old, b.Type, fields(b.name)))
}

// isDefaultOfOther reports whether the backend has the name of the default backend of the other kind.
func isDefaultOfOther(b *Backend) bool {
	return (b.name == defaultName(catalog.KV) || b.name == defaultName(catalog.SQL)) && b.name != defaultName(b.kind)
}

var backendName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)

// replaceBackends replaces every backend of the kind by that of the spec.
func (s *step) replaceBackends(backends *yaml.Node, b *Backend) {
	fields, ok := s.fieldsOf(b)
	if !ok {
		return
	}
	names := backendsOf(backends, b.kind)
	for _, name := range names {
		s.configured[name] = true
		old := document.Child(backends, name)
		if b.Type == SQLiteType(b.kind) && document.Text(document.Child(old, "type")) == b.Type {
			continue // keep SQLite with its own file
		}
		document.Set(backends, name, backendNode(old, b.Type, fields(name)))
	}
	if b.Type != SQLiteType(b.kind) {
		s.rejectShared(b, names)
	}
}

// rejectShared reports storage locations of several backends that would collide in the new database.
func (s *step) rejectShared(b *Backend, names []string) {
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
				Reason: problem.SharedStorageLocation, Path: b.Path, Type: field.ErrorTypeForbidden,
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

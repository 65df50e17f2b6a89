// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// completeStores adds the release line's default stores and converts existing ones to its form. Disabled stores stay.
func (s *step) completeStores(stores, backends *yaml.Node) {
	primary := map[catalog.StoreKind]string{
		catalog.KV:  s.primaryBackend(stores, backends, catalog.KV),
		catalog.SQL: s.primaryBackend(stores, backends, catalog.SQL),
	}
	for _, name := range slices.Sorted(maps.Keys(s.line.Stores)) {
		store := s.line.Stores[name]
		if _, exists := document.IndexOf(stores, name); !exists {
			if store.Default != "" {
				document.Set(stores, name, mapNode([]entryField{
					{name: "backend", value: document.String(primary[store.Kind])},
					{name: store.Kind.LocationField(), value: document.String(store.Default)},
				}))
			}
			continue
		}
		if entry := document.Child(stores, name); entry != nil && entry.Kind == yaml.MappingNode {
			convertStore(entry, store, backendsOf(backends, store.Kind), primary[store.Kind])
		}
	}
}

// convertStore converts a store from the form of another release line.
func convertStore(entry *yaml.Node, store catalog.Store, ofKind []string, primary string) {
	other := catalog.KV
	if store.Kind == catalog.KV {
		other = catalog.SQL
	}
	if place := document.Child(entry, other.LocationField()); place != nil &&
		document.Child(entry, store.Kind.LocationField()) == nil {
		at, _ := document.IndexOf(entry, other.LocationField())
		entry.Content[at-1] = document.String(store.Kind.LocationField())
	}
	if backend := document.Text(document.Child(entry, "backend")); !slices.Contains(ofKind, backend) &&
		!document.HasReference(backend) {
		document.Set(entry, "backend", document.String(primary))
	}
}

// primaryBackend returns the backend that other stores of the kind use, or else the default one.
func (s *step) primaryBackend(stores, backends *yaml.Node, kind catalog.StoreKind) string {
	names := backendsOf(backends, kind)
	for _, store := range document.Keys(stores) {
		if used := document.Text(document.Child(document.Child(stores, store), "backend")); slices.Contains(names, used) {
			return used
		}
	}
	return DefaultBackend(backends, kind)
}

// vectorStores is the name of the store and of its table.
const vectorStores = "vector_stores"

// KeepVectorStores adds the SQL store of vector stores if the release line has it. With access rules or tenants,
// vector_io providers need it to start, and migrate their kv data to it (initialize_openai_vector_stores, release line
// 1.1 and newer).
func KeepVectorStores(doc *document.Document, line *catalog.Line) {
	if store, ok := line.Stores[vectorStores]; !ok || store.Kind != catalog.SQL {
		return
	}
	storage := document.Ensure(doc.Root(), "storage", yaml.MappingNode)
	stores := document.Ensure(storage, "stores", yaml.MappingNode)
	if entry := document.Child(stores, vectorStores); entry != nil && entry.Kind == yaml.MappingNode {
		return
	}
	s := &step{doc: doc, line: line}
	backend := s.primaryBackend(stores, document.Ensure(storage, "backends", yaml.MappingNode), catalog.SQL)
	document.Set(stores, vectorStores, mapNode([]entryField{
		{name: "backend", value: document.String(backend)},
		{name: catalog.SQL.LocationField(), value: document.String(vectorStores)},
	}))
}

// assignStores assigns stores to the backends that the spec names, or turns them off.
func (s *step) assignStores(stores, backends *yaml.Node, assigned map[string]apiextensionsv1.JSON) {
	for _, name := range slices.Sorted(maps.Keys(assigned)) {
		path := pathStores + "[" + name + "]"
		store, ok := s.line.Stores[name]
		if !ok {
			s.unknownStore(name, path)
			continue
		}
		backend, ok := s.backendOfStore(assigned[name].Raw, path)
		switch {
		case !ok:
		case backend == "":
			s.turnOff(stores, name, path)
		case !slices.Contains(backendsOf(backends, store.Kind), backend):
			s.problems.Add(problem.Problem{
				Reason: problem.InvalidField, Path: path + ".backend", Type: field.ErrorTypeNotSupported, Value: backend,
				Detail: fmt.Sprintf("is not a backend of type %s_…", store.Kind),
				Fix: "name one of " + limits.Names(backendsOf(backends, store.Kind)) + ", or add it to " +
					pathBackends,
			})
		default:
			entry := document.Ensure(stores, name, yaml.MappingNode)
			document.Set(entry, "backend", document.String(backend))
			if document.Child(entry, store.Kind.LocationField()) == nil {
				document.Set(entry, store.Kind.LocationField(), document.String(cmp.Or(store.Default, name)))
			}
		}
	}
}

// backendOfStore returns the backend that the spec names for a store, and "" for a store that is off.
func (s *step) backendOfStore(raw []byte, path string) (string, bool) {
	var value any
	if len(raw) > 0 && json.Unmarshal(raw, &value) != nil {
		value = 0 // reported below
	}
	if value == nil || value == false {
		return "", true
	}
	entry, _ := value.(map[string]any)
	backend, _ := entry["backend"].(string)
	if backend == "" || len(entry) != 1 {
		s.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid,
			Detail: "is neither {backend: NAME} nor false", Fix: "for example {backend: sql_default}",
		})
		return "", false
	}
	return backend, true
}

func (s *step) unknownStore(name, path string) {
	has := func(line *catalog.Line) bool { _, ok := line.Stores[name]; return ok }
	if lines := release.OtherLines(has); lines != "" {
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("release line %s has no store %s", s.line.Name, name), Fix: "remove it" + lines,
		})
		return
	}
	s.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeNotSupported, Value: name,
		Fix: "choose one of " + limits.Names(slices.Sorted(maps.Keys(s.line.Stores))),
	})
}

// turnOff turns a store off if the server starts without it: those that are off by default, and those with a switch.
func (s *step) turnOff(stores *yaml.Node, name, path string) {
	const enabled = "enabled"
	store := s.line.Stores[name]
	_, hasSwitch := s.line.Objects[store.Object][enabled]
	switch {
	case hasSwitch:
		document.Set(document.Ensure(stores, name, yaml.MappingNode), enabled, document.Bool(false))
	case store.Default == "":
		document.Set(stores, name, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"})
	default:
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the server of release line %s does not start without the store %s", s.line.Name, name),
			Fix: "remove it, or name a backend" + release.OtherLines(func(line *catalog.Line) bool {
				other, ok := line.Stores[name]
				_, hasSwitch := line.Objects[other.Object][enabled]
				return ok && (hasSwitch || other.Default == "")
			}),
		})
	}
}

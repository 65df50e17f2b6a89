// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/difference"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// fileMigration moves the parts of a user's own configuration into the spec of a v1alpha2 object.
type fileMigration struct {
	*rewriting
	file   *document.Document
	pieces []*piece
	// directory is that of the SQLite files if a variable keeps it; otherwise empty.
	directory string
	// defaults are the parts that the distribution has as the file has them.
	defaults []string
	// dropped are the parts of the file that are left out, with the way to keep them.
	dropped []string
	// secrets are manifests for credentials that the file has in plain text.
	secrets []any
}

// piece is a part of the file as a value of a field in the spec.
type piece struct {
	// source is the part of the file: "providers.inference[vllm]".
	source string
	// field is the field of the spec. A field with list true takes the values of all its pieces as a list.
	field []string
	list  bool
	value any
	// candidates are config fields that become settings if the generated configuration does not have them.
	candidates map[string]any
	// id names a provider.
	api, id string
}

// maxRounds bounds the builds of one migration: each one but the last removes at least one piece or setting.
const maxRounds = 200

// migrateFile replaces spec.overrideConfig by fields of the spec that say the same.
func migrateFile(ctx context.Context, cluster *offline.Cluster, d *manifest.Document, object map[string]any,
	line *catalog.Line, written *yaml.Node, before *offline.Resource, assumed bool) (*fileMigration, *offline.Resource,
	error) {
	base, err := document.ParseBase("", ownFile(before))
	if err != nil {
		return nil, nil, err
	}
	m := &fileMigration{
		rewriting: &rewriting{object: object, line: line, used: map[string]bool{}, assumed: assumed}, file: base.Edit(),
	}
	m.env, _, _ = unstructured.NestedSlice(object, envPath...)
	build := func() (map[string]any, *offline.Resource) {
		made := m.compose()
		return made, cluster.DryRun(ctx, &manifest.Document{File: d.File, Line: d.Line, Object: made})
	}
	m.readProviders()
	m.readResources()
	m.readDefaults()
	m.readStorage()
	m.readTelemetry(written)
	m.readServer()
	pieces := m.pieces
	m.pieces = nil
	_, plain := build() // without the variables that became values
	m.pieces = pieces
	m.removeDefaults(before, plain)
	// The settings are what the generated configuration lacks without them.
	_, bare := build()
	generated := generatedConfig(bare)
	m.disableAPIs(generated)
	m.addSettings(generated)
	m.keepDirectory(generated)
	for range maxRounds {
		made, after := build()
		if !after.Failed() {
			m.object = made
			return m, after, nil
		}
		if !m.dropFaults(after.Problems.Errors()) {
			return m, after, nil
		}
	}
	return nil, nil, fmt.Errorf("more than %d parts of the file are errors in the spec", maxRounds)
}

// compose returns the object with the pieces instead of spec.overrideConfig.
func (m *fileMigration) compose() map[string]any {
	object := runtime.DeepCopyJSON(m.object)
	unstructured.RemoveNestedField(object, "spec", "overrideConfig")
	lists := map[string][]any{}
	var order [][]string
	for _, p := range m.pieces {
		if !p.list {
			_ = unstructured.SetNestedField(object, runtime.DeepCopyJSONValue(p.value), p.field...)
			continue
		}
		key := strings.Join(p.field, ".")
		if lists[key] == nil {
			order = append(order, p.field)
		}
		lists[key] = append(lists[key], runtime.DeepCopyJSONValue(p.value))
	}
	for _, field := range order {
		list := lists[strings.Join(field, ".")]
		if field[1] == "providers" && len(list) == 1 {
			_ = unstructured.SetNestedField(object, list[0], field...)
			continue
		}
		_ = unstructured.SetNestedSlice(object, list, field...)
	}
	m.replaceCommand(object)
	m.removeVariables(object)
	return object
}

// removeVariables removes the variables that became values, unless something else refers to them.
func (m *fileMigration) removeVariables(object map[string]any) {
	spec, _, _ := unstructured.NestedMap(object, "spec")
	var left []any
	for _, item := range m.env {
		variable, _ := item.(map[string]any)
		name, _ := variable["name"].(string)
		if m.assumed || !m.used[name] || m.isReferenced(name) || refersTo(spec, name) {
			left = append(left, item)
		}
	}
	if len(left) < len(m.env) || m.directory != "" {
		(&rewriting{object: object}).setVariables(left)
	}
}

// refersTo reports whether a value has a reference of the server to the variable.
func refersTo(value any, name string) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, each := range v {
			if refersTo(each, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(each any) bool { return refersTo(each, name) })
	case string:
		return strings.Contains(v, "${env."+name+"}") || strings.Contains(v, "${env."+name+":")
	}
	return false
}

// replaceCommand removes a command that only starts the server with the file, which the image does by itself.
func (m *fileMigration) replaceCommand(object map[string]any) {
	overrides, _, _ := unstructured.NestedMap(object, "spec", "workload", "overrides")
	command, _, _ := unstructured.NestedStringSlice(overrides, "command")
	args, _, _ := unstructured.NestedStringSlice(overrides, "args")
	text := strings.Join(append(command, args...), " ")
	if !startsServer(text) {
		return
	}
	for _, field := range []string{"command", "args"} {
		unstructured.RemoveNestedField(object, "spec", "workload", "overrides", field)
	}
}

// startsServer reports whether a command does nothing but start the server with a configuration file.
func startsServer(command string) bool {
	for _, shell := range []string{"/bin/sh -c ", "/bin/bash -c ", "sh -c ", "bash -c "} {
		command = strings.TrimPrefix(command, shell)
	}
	command = strings.TrimPrefix(command, "exec ")
	if strings.ContainsAny(command, ";&|\n`") {
		return false
	}
	for _, start := range []string{"llama stack run ", "llama-stack run ", "ogx run ", "ogx stack run "} {
		if strings.HasPrefix(command, start) {
			return true
		}
	}
	return false
}

func (m *fileMigration) add(p *piece) { m.pieces = append(m.pieces, p) }

// drop records a part of the file that the spec cannot say.
func (m *fileMigration) drop(source, why string) {
	m.dropped = append(m.dropped, source+": "+why)
}

// addSettings adds the candidates of each provider that the generated configuration lacks or has with another value.
func (m *fileMigration) addSettings(generated map[string]any) {
	items, backends := providerItems(generated), backendsOf(generated)
	for _, p := range m.pieces {
		if len(p.candidates) == 0 {
			continue
		}
		entry := p.value.(map[string]any)
		item, known := items[p.api+"["+p.id+"]"]
		known = known && !m.assumed
		row, _ := m.line.Provider(p.api, m.line.FullType(p.api, fmt.Sprint(entry["provider"])))
		settings := map[string]any{}
		for name, value := range p.candidates {
			existing, exists := section(item, "config")[name]
			if row != nil && missesBackend(value, backends) {
				continue // the generated configuration has other backends
			}
			switch {
			case row != nil && isNeeded(row.Fields[name], value):
				settings[name] = value
			case m.isUnset(value):
				settings[name] = value
			case known && exists && sameValue(existing, m.resolved(value)):
			case (!known || !exists) && (value == nil || row != nil && sameValue(row.Fields[name].Default, m.resolved(value))):
			default:
				settings[name] = value
			}
		}
		if len(settings) > 0 {
			entry["settings"] = settings
		}
	}
}

// isUnset reports whether a value refers to a variable without a default that the object does not set.
func (m *fileMigration) isUnset(value any) bool {
	text, _ := value.(string)
	return slices.ContainsFunc(document.References(text), func(ref document.Reference) bool {
		return ref.Operator == "" && m.variable(ref.Name) == nil
	})
}

// isNeeded reports whether a provider is an error without a field of its config. References to storage have defaults.
func isNeeded(field catalog.Field, value any) bool {
	return field.Required && field.Type != catalog.TypeMap && value != nil
}

// missesBackend reports whether a value has a reference to a storage backend that there is not.
func missesBackend(value any, backends map[string]any) bool {
	fields, _ := value.(map[string]any)
	if backend, isReference := fields["backend"].(string); isReference {
		return backends[backend] == nil
	}
	for _, inner := range fields {
		if missesBackend(inner, backends) {
			return true
		}
	}
	return false
}

// generatedConfig returns the effective configuration that is generated; nil if none is.
func generatedConfig(r *offline.Resource) map[string]any {
	if r.Desired == nil || r.Desired.Config == nil {
		return nil
	}
	tree, _ := effectiveConfig(r) // nil, if it cannot be read
	return tree
}

func backendsOf(tree map[string]any) map[string]any {
	return section(section(tree, "storage"), "backends")
}

// sqliteVariable is the variable of the directory of SQLite files in the distributions.
const sqliteVariable = "SQLITE_STORE_DIR"

// keepDirectory keeps SQLite files where they are, if only their directory differs from that of the distribution.
func (m *fileMigration) keepDirectory(generated map[string]any) {
	backends, directory := backendsOf(generated), ""
	for name, backend := range document.Members(m.file.Backends()) {
		now := section(backends, name)
		was, _ := m.resolved(document.Plain(backend)).(map[string]any)
		before, _ := was["db_path"].(string)
		after, _ := now["db_path"].(string)
		if before == "" || after == "" || path.Base(before) != path.Base(after) ||
			directory != "" && directory != path.Dir(before) {
			return
		}
		if path.Dir(before) != path.Dir(after) {
			directory = path.Dir(before)
		}
	}
	if directory != "" && m.variable(sqliteVariable) == nil {
		m.env = append(m.env, map[string]any{"name": sqliteVariable, "value": directory})
		m.directory = directory
	}
}

// sameValue reports whether two values mean the same for the server.
func sameValue(a, b any) bool {
	return len(difference.CompareTrees(map[string]any{"": a}, map[string]any{"": b})) == 0
}

// resolved returns a value as the server reads it with the variables of the object.
func (m *fileMigration) resolved(value any) any {
	env := map[string]string{}
	for _, item := range m.env {
		v, _ := item.(map[string]any)
		name, _ := v["name"].(string)
		env[name] = m.plain(name)
	}
	return difference.Resolve(value, env)
}

// removeDefaults removes the providers that the distribution has with the same config.
func (m *fileMigration) removeDefaults(before, plain *offline.Resource) {
	if plain.Desired == nil || m.assumed {
		return
	}
	file, err := effectiveConfig(before)
	if err != nil {
		return
	}
	distribution, err := effectiveConfig(plain)
	if err != nil {
		return
	}
	wanted, has := providerItems(file), providerItems(distribution)
	m.pieces = slices.DeleteFunc(m.pieces, func(p *piece) bool {
		if isDefaults(p) {
			return m.removeSameDefaults(p, file, distribution)
		}
		key := p.api + "[" + p.id + "]"
		was, entry := wanted[key], has[key]
		entryOfSpec, _ := p.value.(map[string]any)
		same := entry != nil && was["provider_type"] == entry["provider_type"] && entryOfSpec["apiKey"] == nil &&
			entryOfSpec["secretRefs"] == nil && len(configChanges(key, was, entry, m.line)) == 0
		if same {
			m.defaults = append(m.defaults, p.source)
		}
		return same
	})
}

// disableAPIs disables the APIs that the distribution serves and the file does not.
func (m *fileMigration) disableAPIs(generated map[string]any) {
	listed := m.file.APIs()
	if listed == nil {
		return
	}
	served := map[string]bool{}
	for _, n := range listed.Content {
		served[document.Text(n)] = true
	}
	needed := m.neededAPIs(generated, served)
	apis, _ := generated["apis"].([]any)
	for _, item := range apis {
		api, _ := item.(string)
		if _, known := m.line.APIs[api]; known && !served[api] && !needed[api] {
			m.add(&piece{source: "apis, without " + api, field: []string{"spec", "disabled"}, list: true, value: api})
		}
	}
}

// neededAPIs returns the APIs that the generated providers of the served APIs require.
func (m *fileMigration) neededAPIs(generated map[string]any, served map[string]bool) map[string]bool {
	needed := map[string]bool{}
	for key, entry := range providerItems(generated) {
		api, _, _ := strings.Cut(key, "[")
		row, known := m.line.Provider(api, fmt.Sprint(entry["provider_type"]))
		if !known || !served[api] {
			continue
		}
		for _, other := range row.Needs {
			needed[other] = true
		}
	}
	return needed
}

// dropFaults removes the pieces and settings that are errors. It returns false if none of them is the cause.
func (m *fileMigration) dropFaults(faults problem.List) bool {
	removed := false
	for i := range faults {
		removed = m.dropFault(&faults[i]) || removed
	}
	return removed
}

func (m *fileMigration) dropFault(fault *problem.Problem) bool {
	var gone *piece
	for _, p := range m.pieces {
		at := m.pathOf(p)
		if fault.Path != at && !strings.HasPrefix(fault.Path, at+".") && !strings.HasPrefix(fault.Path, at+"[") {
			continue
		}
		entry, _ := p.value.(map[string]any)
		settings, _ := entry["settings"].(map[string]any)
		if isDefaults(p) && m.dropDefault(p, fault) {
			return true
		}
		rest, ofSetting := strings.CutPrefix(fault.Path, at+".settings.")
		name := rest
		if cut := strings.IndexAny(rest, ".["); cut >= 0 {
			name = rest[:cut]
		}
		if _, exists := settings[name]; ofSetting && exists {
			delete(settings, name)
			if len(settings) == 0 {
				delete(entry, "settings")
			}
			m.drop(p.source+".config."+name, fault.Body())
			return true
		}
		gone = p
	}
	if gone == nil {
		return m.dropList(fault)
	}
	m.pieces = slices.DeleteFunc(m.pieces, func(p *piece) bool { return p == gone })
	m.drop(gone.source, fault.Body())
	return true
}

// dropList removes all pieces of a list that is an error as a whole.
func (m *fileMigration) dropList(fault *problem.Problem) bool {
	before := len(m.pieces)
	m.pieces = slices.DeleteFunc(m.pieces, func(p *piece) bool {
		wrong := strings.Join(p.field, ".") == fault.Path
		if wrong {
			m.drop(p.source, fault.Body())
		}
		return wrong
	})
	return len(m.pieces) < before
}

// pathOf returns the path of a piece in the composed object.
func (m *fileMigration) pathOf(p *piece) string {
	field := strings.Join(p.field, ".")
	if !p.list {
		return field
	}
	index, count := 0, 0
	for _, other := range m.pieces {
		if strings.Join(other.field, ".") != field {
			continue
		}
		if other == p {
			index = count
		}
		count++
	}
	if p.field[1] == "providers" && count == 1 {
		return field
	}
	return field + "[" + strconv.Itoa(index) + "]"
}

// value returns a scalar, list or map of the file for the spec: with literal variables and defaults in place of whole
// references, and with other references as they are.
func (m *fileMigration) value(n *yaml.Node) any {
	if n == nil {
		return nil
	}
	return m.literal(document.Plain(n))
}

func (m *fileMigration) literal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, each := range v {
			v[key] = m.literal(each)
		}
	case []any:
		for i, each := range v {
			v[i] = m.literal(each)
		}
	case string:
		ref, whole := document.WholeReference(v)
		if !whole || ref.Operator == document.IfSet {
			return v
		}
		variable := m.variable(ref.Name)
		plain, _ := variable["value"].(string)
		switch {
		case variable == nil && ref.HasDefault():
			return typed(ref.Value)
		case variable == nil && ref.Operator == document.OrElse:
			return nil
		case plain != "" && !strings.Contains(plain, "$("):
			m.used[ref.Name] = true
			return typed(plain)
		}
	case int:
		return int64(v)
	}
	return value
}

// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/server"
)

const doesNotStart = "the server does not start without it"

// entryFields are the fields of a provider.
var entryFields = map[string]catalog.Field{
	"provider_id":   {Type: catalog.TypeString, Nullable: true, Required: true},
	"provider_type": {Type: catalog.TypeString, Required: true},
	"module":        {Type: catalog.TypeString},
	"config":        {Type: catalog.TypeMap},
}

// sections checks the fields of the whole configuration.
func (l *linter) sections() {
	for _, name := range slices.Sorted(maps.Keys(l.line.Sections)) {
		if section := l.line.Sections[name]; section.Required && document.Child(l.doc.Root(), name) == nil {
			l.add(Refused, nil, name, "the file has no section "+name+", and release line "+l.line.Name+
				" does not start without it", "add it")
		}
	}
	l.name()
	l.encryption()
	for key, value := range document.Members(l.doc.Root()) {
		switch field, known := l.line.Sections[key]; {
		case !known:
			l.unknownSection(key, value)
		case key == "providers":
			l.providers(value)
		case key == "storage":
			l.storage(value)
		case key == "registered_resources":
			l.value(field, value, key)
			l.resources(value)
		case key == "apis":
			l.value(field, value, key)
			l.apis(value)
		default:
			l.value(field, value, key)
		}
	}
}

// name checks that the file names its distribution, which the server needs and does not use.
func (l *linter) name() {
	if document.Child(l.doc.Root(), "distro_name") == nil && document.Child(l.doc.Root(), "image_name") == nil &&
		!l.line.Sections["image_name"].Required {
		l.add(Refused, nil, "distro_name", "the file has neither distro_name nor image_name", "add distro_name")
	}
}

// encryption checks that a server without TLS says so, where it must.
func (l *linter) encryption() {
	tls := server.ReadTLS(l.doc.Root())
	insecure := document.Child(document.Child(l.doc.Root(), "server"), "insecure")
	says := strings.EqualFold(document.Text(insecure), "true") || document.HasReference(document.Text(insecure))
	if l.line.NeedsInsecure && !tls.Enabled() && !says {
		l.add(Refused, document.Child(l.doc.Root(), "server"), "server.insecure",
			"the file has neither TLS files nor server.insecure, and release line "+l.line.Name+" does not start so",
			"add server.insecure: true, unless the image or its arguments pass --insecure")
	}
}

// apis checks for APIs that the server leaves out because no provider serves them.
func (l *linter) apis(n *yaml.Node) {
	for i, item := range document.Items(n) {
		api := document.Text(item)
		described, known := l.line.APIs[api]
		if known && described.Table == "" && !l.line.APIsMustBeServed && !l.doc.HasProvider(api) {
			l.add(Ignored, item, fmt.Sprintf("apis[%d]", i), "no provider serves the API "+api,
				"add a provider, or remove the API")
		}
	}
}

// resources checks for registered resources that the server drops.
func (l *linter) resources(n *yaml.Node) {
	for list, entries := range document.Members(n) {
		path := "registered_resources." + list
		dropped := list == "tool_groups" && !l.line.RegistersToolGroups ||
			list == "vector_stores" && !l.line.RegistersVectorStores
		if dropped && len(document.Items(entries)) > 0 {
			l.add(Ignored, entries, path, "release line "+l.line.Name+" does not register "+list, "remove the list")
			continue
		}
		for i, entry := range document.Items(entries) {
			if document.Child(entry, "provider_id") == nil && resource.ProviderAPIs[list] != "" {
				l.add(Ignored, entry, fmt.Sprintf("%s[%d]", path, i), "the server skips an entry without provider_id",
					"add provider_id")
			}
		}
	}
}

func (l *linter) unknownSection(key string, value *yaml.Node) {
	if key == "auth" {
		l.add(Ignored, value, key, "the server reads authentication only under server.auth, so everyone may call it",
			"move it to server.auth")
		return
	}
	l.unknownKey(value, key, key, slices.Sorted(maps.Keys(l.line.Sections)), func(line *catalog.Line) bool {
		_, ok := line.Sections[key]
		return ok
	})
}

// unknownKey reports a key that the server ignores. has reports whether a release line has it.
func (l *linter) unknownKey(n *yaml.Node, path, key string, known []string, has func(*catalog.Line) bool) {
	if l.counts[Ignored] >= limits.Problems {
		return // not shown
	}
	fix := "remove it"
	if near, ok := problem.Nearest(key, known); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
	} else if lines := linesWith(has); lines != "" {
		fix = "it exists in " + lines
	}
	l.add(Ignored, n, path, "release line "+l.line.Name+" has no such field", fix)
}

// linesWith describes the release lines with the condition, or returns "".
func linesWith(has func(*catalog.Line) bool) string {
	if has == nil {
		return ""
	}
	lines := catalog.LinesWhere(has)
	if len(lines) == 0 {
		return ""
	}
	return release.FormatLines(lines)
}

// object checks the keys of a map with known fields.
func (l *linter) object(all map[string]catalog.Field, n *yaml.Node, path string, has func(*catalog.Line, string) bool) {
	fields := catalog.FieldsForKind(all, func(name string) string { return document.Text(document.Child(n, name)) })
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if field := fields[name]; field.Required && document.Child(n, name) == nil && !integrity.HasAlias(n, fields, name) {
			l.add(Refused, n, limits.Join(path, "."+name), doesNotStart, "add it")
		}
	}
	for key, value := range document.Members(n) {
		at := limits.Join(path, "."+key)
		if field, known := fields[key]; known {
			l.value(field, value, at)
			continue
		}
		var on func(*catalog.Line) bool
		if has != nil {
			on = func(line *catalog.Line) bool { return has(line, key) }
		}
		l.unknownKey(value, at, key, slices.Sorted(maps.Keys(fields)), on)
	}
}

// value checks the value of a field, as the server expands it.
func (l *linter) value(field catalog.Field, n *yaml.Node, path string) {
	value, known := l.expand(n, path)
	if !known {
		return
	}
	if want := provider.ExpectedValue(field, value); want != "" {
		l.add(Refused, n, path, "the server takes "+want+" here", "write such a value")
		return
	}
	if text, ok := value.(string); ok && field.Secret && text != "" && !document.HasReference(n.Value) {
		l.add(Exposed, n, path, "is a secret, and everyone who may read the ConfigMap sees it",
			"refer to an environment variable: ${env.NAME}")
	}
	if n.Kind == yaml.MappingNode {
		l.inner(field, n, path)
		return
	}
	if element, ok := field.Element(); ok {
		for i, item := range document.Items(n) {
			l.value(element, item, limits.Join(path, fmt.Sprintf("[%d]", i)))
		}
	}
}

func (l *linter) inner(field catalog.Field, n *yaml.Node, path string) {
	switch {
	case path == "server.auth.provider_config":
		l.auth(n, path)
	case field.Object != "":
		l.object(l.line.Objects[field.Object], n, path, func(line *catalog.Line, key string) bool {
			_, ok := line.Objects[field.Object][key]
			return ok
		})
	case field.Store != "":
		l.object(field.Store.ReferenceFields(), n, path, nil)
	default:
		element, ok := field.Element()
		for key, value := range document.Members(n) {
			if at := limits.Join(path, "."+key); ok {
				l.value(element, value, at)
			} else {
				l.references(value, at)
			}
		}
	}
}

// auth checks the configuration of authentication by its type.
func (l *linter) auth(n *yaml.Node, path string) {
	kind := document.Child(n, "type")
	name := document.Text(kind)
	if document.HasReference(name) {
		return
	}
	at := slices.IndexFunc(l.line.Auth, func(row catalog.AuthType) bool { return row.Type == name })
	if at < 0 {
		var known []string
		for _, row := range l.line.Auth {
			known = append(known, row.Type)
		}
		l.add(Refused, kind, path+".type", fmt.Sprintf("release line %s has no authentication of type %q", l.line.Name,
			limits.Message(name)), "there are "+limits.Names(known))
		return
	}
	fields := maps.Clone(l.line.Auth[at].Fields)
	fields["type"] = catalog.Field{Type: catalog.TypeString, Required: true}
	l.object(fields, n, path, nil)
}

// references checks the environment references of a tree whose fields are unknown.
func (l *linter) references(n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode {
		_, _ = l.expand(n, path)
		return
	}
	for i, item := range document.Items(n) {
		l.references(item, limits.Join(path, fmt.Sprintf("[%d]", i)))
	}
	for key, value := range document.Members(n) {
		l.references(value, limits.Join(path, "."+key))
	}
}

func (l *linter) providers(n *yaml.Node) {
	for api, entries := range document.Members(n) {
		l.kind(catalog.TypeList, entries, "providers."+api)
	}
	first := map[document.ProviderName]string{}
	for entry := range l.doc.Providers() {
		l.provider(entry)
		id := entry.Identity()
		if !l.on(id) {
			continue
		}
		name := document.ProviderName{API: entry.API, ID: id.ID}
		if other, twice := first[name]; twice {
			l.add(Ignored, entry.Node, entry.Path(), "has the id of "+other+", and the server uses one of them",
				"give it another provider_id")
		}
		first[name] = entry.Path()
	}
}

func (l *linter) provider(entry document.Entry) {
	path, id, name, config := entry.Path(), entry.Identity(), entry.Type(), entry.Config()
	typeNode := document.Child(entry.Node, "provider_type")
	if id.Raw == document.DisabledID || strings.HasSuffix(id.Raw, ":="+document.DisabledID+"}") {
		config = nil // not expanded
	}
	l.object(entryFields, withoutConfig(entry.Node), path, nil)
	if at, given := document.IndexOf(entry.Node, "config"); given {
		l.kind(catalog.TypeMap, entry.Node.Content[at], path+".config")
	}
	row, known := l.line.Provider(entry.API, name)
	_, ofLine := l.line.APIs[entry.API]
	foreign := document.Child(entry.Node, "module") != nil || l.doc.Section("external_providers_dir") != nil ||
		l.doc.Section("external_apis_dir") != nil
	switch {
	case !l.on(id) || name == "" || document.HasReference(name):
	case known && row.Refused:
		l.add(Refused, typeNode, path+".provider_type",
			"release line "+l.line.Name+" does not take "+name+" any more", "")
	case known:
		if config == nil {
			config = &yaml.Node{Kind: yaml.MappingNode, Line: entry.Node.Line, Column: entry.Node.Column}
		}
		l.object(row.Fields, config, path+".config", func(line *catalog.Line, key string) bool {
			row, ok := line.Provider(entry.API, name)
			if ok {
				_, ok = row.Fields[key]
			}
			return ok
		})
		return
	case ofLine && !foreign:
		l.unknownType(entry.API, name, typeNode, path+".provider_type")
	}
	if config != nil {
		l.references(config, path+".config")
	}
}

// on reports whether a provider is enabled.
func (l *linter) on(id document.Identity) bool {
	return id.Presence == document.Unconditional || id.Presence == document.Conditional && l.given.Enables(id)
}

func (l *linter) unknownType(api, name string, n *yaml.Node, path string) {
	if l.counts[Refused] >= limits.Problems {
		return // not shown
	}
	fix := "there are " + limits.Names(l.line.ProviderTypes(api))
	if module := l.installed(api, name); module != "" {
		fix = "add module: " + module
	} else if near, ok := problem.Nearest(name, l.line.ProviderTypes(api)); ok {
		fix = fmt.Sprintf("did you mean %q?", near)
	} else if lines := linesWith(catalog.HasProvider(api, name)); lines != "" {
		fix = "it exists in " + lines
	}
	l.add(Refused, n, path, fmt.Sprintf("release line %s has no type %q of %s providers", l.line.Name,
		limits.Message(name), api), fix)
}

// installed returns the installed package with a provider type, or "".
func (l *linter) installed(api, name string) string {
	if l.module == nil {
		return ""
	}
	return l.module(api, name)
}

func withoutConfig(entry *yaml.Node) *yaml.Node {
	rest := *entry
	rest.Content = nil
	for i := 0; i+1 < len(entry.Content); i += 2 {
		if entry.Content[i].Value != "config" {
			rest.Content = append(rest.Content, entry.Content[i], entry.Content[i+1])
		}
	}
	return &rest
}

// kind checks the type of a section.
func (l *linter) kind(of catalog.FieldType, n *yaml.Node, path string) {
	if want := provider.ExpectedValue(catalog.Field{Type: of, Required: true}, outline(n)); want != "" {
		l.add(Refused, n, path, "the server takes "+want+" here", "write such a value, or remove the key")
	}
}

func (l *linter) storage(n *yaml.Node) {
	if l.line.Sections["storage"].Required && document.Child(n, "backends") == nil {
		l.add(Refused, n, "storage.backends", doesNotStart, "add it")
	}
	for key, value := range document.Members(n) {
		at := "storage." + key
		check := map[string]func(name string, n *yaml.Node, path string){"backends": l.backend, "stores": l.store}[key]
		if check == nil {
			l.unknownKey(value, at, key, []string{"backends", "stores"}, nil)
			continue
		}
		l.kind(catalog.TypeMap, value, at)
		for name, inner := range document.Members(value) {
			check(name, inner, at+"."+name)
		}
	}
	l.defaultStores(n)
}

// defaultStores checks the backends of stores that the file leaves to their defaults. The release line that requires
// the section storage has no such defaults.
func (l *linter) defaultStores(storage *yaml.Node) {
	backends := document.Child(storage, "backends")
	if backends == nil || backends.Kind != yaml.MappingNode || l.line.Sections["storage"].Required {
		return
	}
	users := map[catalog.StoreKind][]string{}
	for _, name := range slices.Sorted(maps.Keys(l.line.Stores)) {
		store := l.line.Stores[name]
		kind := document.Text(document.Child(document.Child(backends, string(store.Kind)+"_default"), "type"))
		if _, given := document.IndexOf(document.Child(storage, "stores"), name); !given && store.Default != "" &&
			!strings.HasPrefix(kind, string(store.Kind)+"_") && !document.HasReference(kind) {
			users[store.Kind] = append(users[store.Kind], name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(users)) {
		l.add(Refused, backends, "storage.backends", fmt.Sprintf("has no %s_default of type %s_…, which is the default of "+
			"stores that the file does not have: %s", kind, kind, limits.Names(users[kind])),
			"add it, or these stores under storage.stores with another backend")
	}
}

func (l *linter) backend(_ string, backend *yaml.Node, path string) {
	kind := document.Text(document.Child(backend, "type"))
	row, known := l.line.Backends[kind]
	switch {
	case document.HasReference(kind):
		l.references(backend, path)
	case !known:
		l.add(Refused, backend, path+".type", fmt.Sprintf("release line %s has no storage backend of type %q", l.line.Name,
			limits.Message(kind)), "there are "+limits.Names(slices.Sorted(maps.Keys(l.line.Backends))))
	default:
		fields := maps.Clone(row.Fields)
		fields["type"] = catalog.Field{Type: catalog.TypeString, Required: true}
		l.object(fields, backend, path, func(line *catalog.Line, key string) bool {
			_, ok := line.Backends[kind].Fields[key]
			return ok
		})
		if _, ok := fields["connection_string"]; ok && !fields["user"].Required &&
			document.Child(backend, "connection_string") == nil && document.Child(backend, "user") == nil {
			l.add(Refused, backend, path, "has neither connection_string nor user", "add one of them")
		}
	}
}

func (l *linter) store(name string, store *yaml.Node, path string) {
	known, ok := l.line.Stores[name]
	if !ok {
		l.unknownKey(store, path, name, slices.Sorted(maps.Keys(l.line.Stores)), func(line *catalog.Line) bool {
			_, ok := line.Stores[name]
			return ok
		})
		return
	}
	if store.Kind != yaml.MappingNode || integrity.IsMigratedReference(name, store, known) {
		return
	}
	fields := known.Kind.ReferenceFields()
	maps.Copy(fields, l.line.Objects[known.Object])
	l.object(fields, store, path, nil)
}

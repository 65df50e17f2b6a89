// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// oldReference matches references with a default or condition in the forms of a shell and of the first llama-stack
// releases.
var oldReference = regexp.MustCompile(`\$\{env\.([A-Z0-9_]+):([^=+}][^}]*)?\}`)

// variables rewrites references to environment variables in forms that no known release line expands.
func (m *migration) variables(n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode {
		name := ""
		fixed := oldReference.ReplaceAllStringFunc(n.Value, func(reference string) string {
			parts := oldReference.FindStringSubmatch(reference)
			name = parts[1]
			if strings.HasPrefix(parts[2], "?") {
				return "${env." + name + "}"
			}
			return "${env." + name + ":=" + strings.TrimPrefix(parts[2], "-") + "}"
		})
		if name != "" {
			n.Value = fixed
			m.add(Rewritten, n, path, "${env."+name+":…} is ${env."+name+":=…} now", "the server expands only this form")
		}
		return
	}
	for i, item := range document.Items(n) {
		m.variables(item, index(path, i))
	}
	for key, value := range document.Members(n) {
		m.variables(value, join(path, key))
	}
}

// name keeps the name of the distribution, without which some release lines do not start.
func (m *migration) name() {
	const image, distro = "image_name", "distro_name"
	_, readsDistro := m.line.Sections[distro]
	hasImage, value := document.Child(m.root, image) != nil, document.Child(m.root, distro)
	switch {
	case value != nil && !readsDistro && !hasImage:
		document.Drop(m.root, image)
		rename(m.root, distro, image)
		m.add(Rewritten, value, distro, "is "+image+" now", m.reads(image))
	case value != nil && !readsDistro:
		document.Drop(m.root, distro)
		m.add(Removed, value, distro, "is removed", m.reads(image))
	case value == nil && !hasImage:
		key := distro
		if !readsDistro {
			key = image
		}
		m.insertAfter("version", key, document.String("custom"))
		m.add(Added, nil, key, "is added", "the server does not start without it")
	}
}

// version sets the version of the schema, which is 2 on all known release lines.
func (m *migration) version() {
	if n := document.Child(m.root, "version"); document.Text(n) == "1" {
		n.Value = "2"
		m.add(Rewritten, n, "version", "is 2 now", "this is the schema of all release lines")
	}
}

// sectionReasons say what replaces a section, or a field of the section server, that a release line does not have.
var sectionReasons = map[string]string{
	"server.quota":        "limit the requests in front of the server",
	"server.cors":         "set the CORS headers in front of the server",
	"server.tenancy":      "run a server for each tenant",
	"server.insecure":     "the server takes HTTP without it",
	"server.hsts_max_age": "set the header in front of the server",
}

// sections rewrites the remaining top-level fields.
func (m *migration) sections() {
	if apis, ok := document.IndexOf(m.root, "apis"); ok && !m.line.APIsMustBeServed && !m.suits() {
		if n := m.root.Content[apis]; n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			document.Drop(m.root, "apis")
			m.add(Removed, n, "apis", "the empty list is removed", "it disables all APIs on release line "+m.line.Name)
		}
	}
	m.headerTemplate()
	for _, p := range pairs(m.root) {
		switch p.key {
		case "providers", "storage", "registered_resources", "server":
			continue // rewritten already, or later
		}
		field, known := m.line.Sections[p.key]
		switch {
		case !known && elsewhere(func(l *catalog.Line) bool { _, ok := l.Sections[p.key]; return ok }):
			document.Drop(m.root, p.key)
			m.add(Removed, p.value, p.key, "is removed", m.reasonWithout(p.key))
		case known && m.dropNull(m.root, field, p, p.key):
		case known:
			m.inner(field, p.value, p.key)
		}
	}
}

// reasonWithout returns the reason why a section or field is removed.
func (m *migration) reasonWithout(path string) string {
	reason := m.hasNo("such field")
	absence, _ := m.line.Absent(path)
	if instead := cmp.Or(sectionReasons[path], absence.Instead); instead != "" {
		reason += "; " + instead
	}
	return reason
}

// searchWords are the words that the server requires in the header of file search, on older and newer release lines.
var searchWords = [2]string{"knowledge_search", "file_search"}

func (m *migration) headerTemplate() {
	n := m.child("vector_stores", "file_search_params", "header_template")
	from, to := searchWords[0], searchWords[1]
	if _, old := m.line.Provider("tool_runtime", "inline::rag-runtime"); old {
		from, to = to, from
	}
	if text := document.Text(n); strings.Contains(text, from) && !strings.Contains(text, to) {
		n.Value = strings.ReplaceAll(text, from, to)
		m.add(Rewritten, n, "vector_stores.file_search_params.header_template", from+" is "+to+" now",
			"the server requires this word")
	}
}

// dropNull removes a null that the release line refuses. Absent means the same.
func (m *migration) dropNull(in *yaml.Node, field catalog.Field, p pair, path string) bool {
	if !document.IsNull(p.value) || field.Required || provider.ExpectedValue(field, nil) == "" {
		return false
	}
	document.Drop(in, p.key)
	m.add(Removed, p.value, path, "null is removed", "release line "+m.line.Name+" does not start with it")
	return true
}

// fields removes the fields of a map that only other release lines have. has reports whether one has it.
func (m *migration) fields(all map[string]catalog.Field, n *yaml.Node, path string,
	has func(l *catalog.Line, key string) bool) {
	fields := catalog.FieldsForKind(all, func(name string) string { return document.Text(document.Child(n, name)) })
	for _, p := range pairs(n) {
		at := join(path, p.key)
		field, known := fields[p.key]
		switch {
		case !known && has != nil && elsewhere(func(l *catalog.Line) bool { return has(l, p.key) }):
			if strings.HasPrefix(at, "server.auth") {
				m.add(Kept, p.value, at, m.hasNo("such field"), "the server ignores it: choose another authentication")
				continue
			}
			document.Drop(n, p.key)
			m.add(Removed, p.value, at, "is removed", m.reasonWithout(at))
		case known && m.dropNull(n, field, p, at):
		case known:
			m.inner(field, p.value, at)
		}
	}
}

// inner does the same as fields for the value of a field.
func (m *migration) inner(field catalog.Field, n *yaml.Node, path string) {
	if field.Object == "" {
		return
	}
	for i, item := range document.Items(n) {
		m.inner(field, item, index(path, i))
	}
	if n.Kind == yaml.MappingNode {
		m.fields(m.line.Objects[field.Object], n, path, func(l *catalog.Line, key string) bool {
			_, ok := l.Objects[field.Object][key]
			return ok
		})
	}
}

// defaults writes defaults of the release line that the file is for, if they name other data or other clients on the
// new one.
func (m *migration) defaults() {
	from := m.from
	if m.old {
		from = catalog.Lines()[:1]
	}
	if len(from) == 0 || m.suits() {
		return
	}
	nearest := from[len(from)-1]
	if catalog.Compare(nearest, m.line.Name) > 0 {
		nearest = from[0]
	}
	before, _ := catalog.Get(nearest)
	for name, backend := range document.Members(m.child("storage", "backends")) {
		kind := document.Text(document.Child(backend, "type"))
		if document.Child(backend, "connection_string") == nil {
			m.writeDefaults(backend, before.Backends[kind].Fields, m.line.Backends[kind].Fields, "storage.backends."+name,
				"the data is there")
		}
	}
	config := m.child("server", "auth", "provider_config")
	name := document.Text(document.Child(config, "type"))
	old, wasKnown := before.AuthType(name)
	now, known := m.line.AuthType(name)
	if wasKnown && known && document.Child(config, "jwks") != nil {
		m.writeDefaults(config, old.Fields, now.Fields, "server.auth.provider_config", "the tokens have this value")
	}
}

func (m *migration) writeDefaults(n *yaml.Node, before, now map[string]catalog.Field, path, reason string) {
	for _, name := range []string{"db", "table_name", "collection_name", "audience"} {
		old, isText := before[name].Default.(string)
		if field, known := now[name]; known && isText && field.Default != old && document.Child(n, name) == nil {
			document.Set(n, name, document.String(old))
			m.add(Added, n, path+"."+name, "has the value "+old+" now, which was the default",
				fmt.Sprintf("the default of release line %s is another, and %s", m.line.Name, reason))
		}
	}
}

// server rewrites the section server.
func (m *migration) server() {
	n := document.Child(m.root, "server")
	if n != nil && n.Kind == yaml.MappingNode {
		m.oldAuth(document.Child(n, "auth"))
		m.quota(document.Child(n, "quota"))
		m.fields(m.line.ServerFields(), n, "server", func(l *catalog.Line, key string) bool {
			_, ok := l.ServerFields()[key]
			return ok
		})
		m.auth(document.Descend(n, []string{"auth", "provider_config"}))
	} else if at, ok := document.IndexOf(m.root, "server"); ok && n == nil {
		m.dropNull(m.root, m.line.Sections["server"], pair{"server", m.root.Content[at]}, "server")
	}
	m.encryption()
	m.workers()
}

// encryption lets a server without TLS files start as before.
func (m *migration) encryption() {
	n := document.Child(m.root, "server")
	if !m.line.NeedsInsecure || document.Child(n, "insecure") != nil ||
		document.Child(n, "tls_certfile") != nil && document.Child(n, "tls_keyfile") != nil {
		return
	}
	document.Set(document.Ensure(m.root, "server", yaml.MappingNode), "insecure", document.Bool(true))
	m.add(Added, n, "server.insecure", "is true now", "the file has no TLS files, and release line "+m.line.Name+
		" does not start without either")
}

// workers sets the host that several workers need.
func (m *migration) workers() {
	n := document.Child(m.root, "server")
	workers := document.Given(document.Child(n, "workers"))
	if m.line.HostForWorkers && workers != "" && workers != "1" && document.Child(n, "host") == nil {
		document.Set(n, "host", document.String("::"))
		m.add(Added, n, "server.host", `is "::" now`, "several workers do not start without a host")
	}
}

// oldAuth rewrites authentication as llama-stack 0.2 reads it: provider_type and config.
func (m *migration) oldAuth(auth *yaml.Node) {
	kind, config := document.Child(auth, "provider_type"), document.Child(auth, "config")
	if kind == nil || document.Child(auth, "provider_config") != nil {
		return
	}
	settings := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{document.String("type"), kind}}
	if config != nil && config.Kind == yaml.MappingNode {
		settings.Content = append(settings.Content, config.Content...)
	}
	if row, ok := m.line.AuthType(kind.Value); ok {
		if _, reads := row.Fields["ca_cert_path"]; !reads && document.Child(settings, "tls_cafile") == nil {
			rename(settings, "ca_cert_path", "tls_cafile")
		}
	}
	document.Drop(auth, "config")
	rename(auth, "provider_type", "provider_config")
	document.Set(auth, "provider_config", settings)
	m.add(Rewritten, kind, "server.auth.provider_type",
		"is server.auth.provider_config.type now, with the fields of config", m.reads("only this form"))
}

// auth rewrites the fields of the authentication by its type.
func (m *migration) auth(config *yaml.Node) {
	const path = "server.auth.provider_config"
	kind := document.Text(document.Child(config, "type"))
	if kind == "" || document.HasReference(kind) {
		return
	}
	row, known := m.line.AuthType(kind)
	if !known || row.Type != kind {
		if elsewhere(func(l *catalog.Line) bool { _, ok := l.AuthType(kind); return ok }) {
			m.add(Kept, config, path+".type", m.hasNo("authentication of type "+limits.Message(kind)),
				"choose another type: there are "+limits.Names(m.line.AuthNames()))
		}
		return
	}
	fields := maps.Clone(row.Fields)
	fields["type"] = catalog.Field{Type: catalog.TypeString}
	m.fields(fields, config, path, func(l *catalog.Line, key string) bool {
		other, ok := l.AuthType(kind)
		if ok {
			_, ok = other.Fields[key]
		}
		return ok
	})
}

// quota gives the quota a reference to a backend instead of a store of its own.
func (m *migration) quota(quota *yaml.Node) {
	store := document.Child(quota, "kvstore")
	if _, reads := m.line.ServerFields()["quota"]; !reads || !isOldStore(store) {
		return
	}
	document.Set(quota, "kvstore", m.moveStore(store, catalog.KV, "quota", cmp.Or(document.Text(document.Child(store,
		"namespace")), "quota")))
	m.add(Rewritten, store, "server.quota.kvstore", "refers to a backend under storage now",
		m.reads("only references"))
}

// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
)

// keepFile is the way to keep a part of the file for which the spec has no field.
const keepFile = "the spec has no field for it: keep spec.overrideConfig if you need it"

// readProviders reads the providers that are enabled.
func (m *fileMigration) readProviders() {
	var off []string
	for entry := range m.file.Providers() {
		id := entry.Identity()
		source := "providers." + entry.API + "[" + id.ID + "]"
		if id.Presence == document.Conditional {
			ref, _ := document.WholeReference(id.Raw)
			if set := m.variable(ref.Name) != nil; !set && ref.Operator == document.IfSet {
				off = append(off, ref.Name)
				continue
			}
		}
		switch {
		case id.Presence == document.Disabled:
		case id.Presence == document.Unknown:
			m.drop("providers."+entry.API+"["+id.Raw+"]",
				"its id comes from a variable: write the provider into the spec by hand")
		case document.Child(entry.Node, "module") != nil:
			m.drop(source, "is a package: name its image in spec.externalProviders, or keep spec.overrideConfig")
		default:
			if slices.Contains(parse.ConfigurableAPIs(), parse.APIOf(entry.API)) {
				m.add(m.provider(entry, source))
			}
		}
	}
	if len(off) > 0 {
		slices.Sort(off)
		m.drop("providers that are off", "the resource does not set "+strings.Join(slices.Compact(off), ", "))
	}
}

// provider returns the entry of spec.providers for an entry of the file.
func (m *fileMigration) provider(entry document.Entry, source string) *piece {
	api, id := parse.APIOf(entry.API), entry.Identity().ID
	short := strings.TrimPrefix(strings.TrimPrefix(entry.Type(), "remote::"), "inline::")
	if m.line.FullType(api.Name, short) != entry.Type() {
		short = entry.Type()
	}
	fields := map[string]any{"id": id, "provider": short}
	p := &piece{
		source: source, field: []string{"spec", "providers", api.Field}, list: true, value: fields, api: api.Name, id: id,
		candidates: map[string]any{},
	}
	row, _ := m.line.Provider(entry.API, entry.Type())
	if row == nil {
		row = &catalog.Provider{Type: entry.Type(), Key: "api_key"}
	}
	for name, node := range document.Members(entry.Config()) {
		switch {
		case name == row.Key || row.Fields[name].Secret:
			reference, text := m.credential(id, name, node)
			switch {
			case text != "":
				p.candidates[name] = text
			case reference != nil && name == row.Key:
				fields["apiKey"] = reference
			case reference != nil:
				_ = unstructured.SetNestedField(fields, reference, "secretRefs", name)
			}
		case row.Endpoint != nil && row.Endpoint.Kind == catalog.EndpointURL && name == row.Endpoint.Field:
			if text, ok := m.value(node).(string); ok && text != "" {
				fields["endpoint"] = text
			}
		default:
			p.candidates[name] = m.value(node)
			if isNeeded(row.Fields[name], p.candidates[name]) {
				// Without it, nothing is generated to compare with.
				_ = unstructured.SetNestedField(fields, p.candidates[name], "settings", name)
			}
		}
	}
	return p
}

// credential returns the reference to the Secret of a credential, or its text if the server has to expand it. Both are
// empty if the server needs none. A credential in plain text gets a manifest of a Secret without its value.
func (m *fileMigration) credential(id, name string, n *yaml.Node) (reference map[string]any, text string) {
	ref, _ := document.WholeReference(document.Text(n))
	secret, _, _ := unstructured.NestedMap(m.variable(ref.Name), "valueFrom", "secretKeyRef")
	if value := m.value(n); value != nil {
		text = fmt.Sprint(value)
	}
	switch {
	case secret != nil && secret["optional"] != true:
		m.used[ref.Name] = true
		return map[string]any{"name": secret["name"], "key": secret["key"]}, ""
	case isPlaceholder(text):
		return nil, ""
	case document.HasReference(text):
		return nil, text
	}
	return m.secretFor(id, name), ""
}

// placeholders are words that stand for no key.
var placeholders = []string{"", "fake", "none", "null", "empty", "no-key", "not-needed", "dummy", "changeme"}

func isPlaceholder(key string) bool { return slices.Contains(placeholders, strings.ToLower(key)) }

// secretFor adds the manifest of a Secret that the user fills, and returns a reference to its key.
func (m *fileMigration) secretFor(id, key string) map[string]any {
	owner := unstructured.Unstructured{Object: m.object}
	name := fmt.Sprintf("%s-%s", owner.GetName(), strings.ToLower(strings.ReplaceAll(id, "_", "-")))
	for _, s := range m.secrets {
		secret := s.(map[string]any)
		if existing, _, _ := unstructured.NestedString(secret, "metadata", "name"); existing == name {
			secret["stringData"].(map[string]any)[key] = fillIn
			return map[string]any{"name": name, "key": key}
		}
	}
	metadata := map[string]any{"name": name}
	if namespace := owner.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	m.secrets = append(m.secrets, map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": map[string]any{key: fillIn},
	})
	return map[string]any{"name": name, "key": key}
}

// fillIn stands for a credential in the manifest of a Secret.
const fillIn = "<fill in>"

// readResources reads models, shields, tool groups and vector stores.
func (m *fileMigration) readResources() {
	for _, list := range m.file.ResourceLists() {
		for i, n := range document.Items(m.file.Registered(list)) {
			source := fmt.Sprintf("registered_resources.%s[%d]", list, i)
			field, value := m.resource(list, n)
			if value == nil {
				m.drop(source, "the spec has no field for it: register it in the running server, or keep spec.overrideConfig")
				continue
			}
			if id, _ := value["provider"].(string); id == "" && value["provider"] != nil {
				continue // the server skips it
			}
			m.add(&piece{source: source, field: []string{"spec", "resources", field}, list: true, value: value})
		}
	}
}

// resourceFields are the fields of the spec for those of registered resources, by list of the file.
var resourceFields = map[string]struct {
	field string
	names map[string]string
}{
	"models": {"models", map[string]string{
		"model_id": "name", "model_type": "modelType", "provider_model_id": "providerModelId", "metadata": "metadata",
	}},
	"shields":     {"shields", map[string]string{"shield_id": "id", "provider_shield_id": "model"}},
	"tool_groups": {"tools", map[string]string{"toolgroup_id": "name", "mcp_endpoint": "endpoint"}},
	"vector_stores": {"vectorStores", map[string]string{
		"vector_store_id": "name", "embedding_model": "embeddingModel", "embedding_dimension": "embeddingDimension",
		"provider_vector_store_id": "providerVectorStoreId",
	}},
}

// resource returns the field below spec.resources and the item for an entry of the file; nil if there is no such field.
func (m *fileMigration) resource(list string, n *yaml.Node) (field string, item map[string]any) {
	known, ok := resourceFields[list]
	if !ok {
		return "", nil
	}
	item = map[string]any{}
	for name, child := range document.Members(n) {
		if value := m.value(child); known.names[name] != "" && value != nil && value != "" {
			item[known.names[name]] = value
		}
	}
	if id := document.IdentityOf(document.Child(n, "provider_id")); id.Presence == document.Conditional {
		item["provider"] = id.ID
	} else if value := m.value(document.Child(n, "provider_id")); value != nil {
		item["provider"] = value
	}
	switch list {
	case "models":
		simplifyModel(item)
	case "tool_groups":
		if endpoint, ok := item["endpoint"].(map[string]any); ok {
			item["endpoint"] = endpoint["uri"]
		}
	}
	return known.field, item
}

// metadataFields are keys of a model's metadata that the spec has fields for.
var metadataFields = map[string]string{
	resource.EmbeddingDimensionKey: "embeddingDimension", resource.ContextLengthKey: "contextLength",
}

// simplifyModel leaves out the defaults of a model, and takes fields out of its metadata.
func simplifyModel(model map[string]any) {
	if model["modelType"] == string(v1alpha2.ModelTypeLLM) {
		delete(model, "modelType")
	}
	if model["providerModelId"] == model["name"] {
		delete(model, "providerModelId")
	}
	metadata, _ := model["metadata"].(map[string]any)
	for key, name := range metadataFields {
		if number, ok := metadata[key].(int64); ok {
			model[name] = number
			delete(metadata, key)
		}
	}
	if len(metadata) == 0 {
		delete(model, "metadata")
	}
}

// readStorage reads Redis and PostgreSQL backends. SQLite is the default.
func (m *fileMigration) readStorage() {
	if _, exists, _ := unstructured.NestedMap(m.object, "spec", "storage"); exists {
		return
	}
	for name, backend := range document.Members(m.file.Backends()) {
		kind, system, _ := strings.Cut(document.Text(document.Child(backend, "type")), "_")
		source, field := "storage.backends."+name, []string{"spec", "storage", kind}
		if kind != string(catalog.KV) && kind != string(catalog.SQL) {
			continue
		}
		if slices.ContainsFunc(m.pieces, func(p *piece) bool { return slices.Equal(p.field, field) }) {
			m.drop(source, "the spec has one backend of each kind: keep spec.overrideConfig if you need several")
			continue
		}
		switch system {
		case "postgres":
			if database := m.databaseParts(backend); database != nil {
				m.add(&piece{source: source, field: field, value: database})
				continue
			}
			ref := m.secretFor("postgres", "connectionString")
			m.describeDatabase(ref, backend)
			m.add(&piece{source: source, field: field, value: map[string]any{"type": "postgres", "connectionString": ref}})
		case "redis":
			endpoint := fmt.Sprint(m.value(document.Child(backend, "host")))
			if port := m.value(document.Child(backend, "port")); port != nil {
				endpoint += ":" + fmt.Sprint(port)
			}
			if text, ok := m.value(document.Child(backend, "url")).(string); ok {
				endpoint = text
			}
			redis := map[string]any{"type": "redis", "endpoint": endpoint}
			if n := document.Child(backend, "password"); n != nil {
				switch reference, text := m.credential("redis", "password", n); {
				case text != "":
					m.drop(source+".password", "comes from a variable: name the Secret in spec.storage."+kind+".password")
				case reference != nil:
					redis["password"] = reference
				}
			}
			m.add(&piece{source: source, field: field, value: redis})
		case "sqlite":
		default:
			m.drop(source, keepFile)
		}
	}
}

// databaseParts returns a PostgreSQL backend of the spec with the parts in the file and in the pod's variables, or nil.
func (m *fileMigration) databaseParts(backend *yaml.Node) map[string]any {
	part := func(key string) string {
		value := m.value(document.Child(backend, key))
		if text := fmt.Sprint(value); value != nil && !document.HasReference(text) {
			return text
		}
		return ""
	}
	host, user, password := part("host"), part("user"), document.Child(backend, "password")
	port, err := strconv.ParseUint(cmp.Or(part("port"), "5432"), 10, 16)
	if host == "" || user == "" || password == nil || err != nil {
		return nil
	}
	reference, text := m.credential("postgres", "password", password)
	if reference == nil || text != "" {
		return nil
	}
	database := map[string]any{"type": "postgres", "host": host, "port": int64(port), "user": user, "password": reference}
	if name := part("db"); name != "" {
		database["database"] = name
	}
	if mode := part("ssl_mode"); mode != "" {
		database["sslMode"] = mode
	}
	return database
}

// describeDatabase writes what the file says of a database into the Secret for its connection string.
func (m *fileMigration) describeDatabase(ref map[string]any, backend *yaml.Node) {
	part := func(key, absent string) string {
		value := m.value(document.Child(backend, key))
		if text := fmt.Sprint(value); value != nil && text != "" && !document.HasReference(text) {
			return url.PathEscape(text)
		}
		return absent
	}
	for _, s := range m.secrets {
		secret := s.(map[string]any)
		if name, _, _ := unstructured.NestedString(secret, "metadata", "name"); name == ref["name"] {
			secret["stringData"].(map[string]any)["connectionString"] = fmt.Sprintf("postgresql://%s:<password>@%s:%s/%s",
				part("user", "<user>"), part("host", "<host>"), part("port", "5432"), part("db", "<database>"))
		}
	}
}

// telemetryEndpoint is the field of the collector's address in the providers of telemetry of llama-stack 0.2.
const telemetryEndpoint = "otel_exporter_otlp_endpoint"

// readTelemetry reads the collector's address from the file as it was written. Later releases have no such providers.
func (m *fileMigration) readTelemetry(written *yaml.Node) {
	for i, n := range document.Items(document.Descend(written, []string{"providers", "telemetry"})) {
		endpoint, _ := m.value(document.Descend(n, []string{"config", telemetryEndpoint})).(string)
		if endpoint != "" {
			m.addUnlessSet(&piece{
				source: fmt.Sprintf("providers.telemetry[%d]", i), field: []string{"spec", "providers", "telemetry"},
				value: map[string]any{"provider": "otel", "endpoint": endpoint},
			})
			return
		}
	}
}

// readServer reads the section server.
func (m *fileMigration) readServer() {
	section := m.file.Section("server")
	for name, n := range document.Members(section) {
		source, value := "server."+name, m.value(n)
		switch name {
		case "port":
			if port, ok := value.(int64); ok && port != int64(v1alpha2.DefaultPort) {
				m.addUnlessSet(&piece{source: source, field: []string{"spec", "networking", "port"}, value: port})
			}
		case "workers":
			if workers, ok := value.(int64); ok && workers > 1 {
				m.addUnlessSet(&piece{source: source, field: []string{"spec", "workload", "workers"}, value: workers})
			}
		case "auth":
			m.readAuth(n)
		case "tls_certfile", "tls_keyfile", "tls_cafile":
			if value != nil && value != "" {
				m.drop(source, "name a Secret with the certificate in spec.networking.tls")
			}
		case "insecure", "host":
		default:
			m.drop(source, keepFile)
		}
	}
}

func (m *fileMigration) addUnlessSet(p *piece) {
	if _, exists, _ := unstructured.NestedFieldNoCopy(m.object, p.field...); !exists {
		m.add(p)
	}
}

// readAuth reads authentication and access rules.
func (m *fileMigration) readAuth(section *yaml.Node) {
	config := document.Child(section, "provider_config")
	kind := document.Text(document.Child(config, "type"))
	row, known := m.line.AuthType(kind)
	auth := map[string]any{}
	if kind != "" {
		auth["provider"] = kind
	}
	settings, _ := m.value(config).(map[string]any)
	delete(settings, "type")
	maps.DeleteFunc(settings, func(_ string, value any) bool { return value == nil })
	var secrets []string
	if known {
		secrets = row.Secrets
	}
	for _, path := range secrets {
		keys := strings.Split(path, ".")
		n := document.Descend(config, keys)
		if n == nil {
			continue
		}
		reference, text := m.credential("auth", path, n)
		if text == "" {
			unstructured.RemoveNestedField(settings, keys...)
		}
		if reference != nil {
			_ = unstructured.SetNestedField(auth, reference, "secretRefs", path)
		}
	}
	if len(settings) > 0 {
		auth["settings"] = settings
	}
	for key, field := range map[string]string{"access_policy": "accessPolicy", "route_policy": "routePolicy"} {
		if rules, ok := m.value(document.Child(section, key)).([]any); ok && len(rules) > 0 {
			auth[field] = rules
		}
	}
	if len(auth) > 0 {
		m.addUnlessSet(&piece{source: "server.auth", field: []string{"spec", "auth"}, value: auth})
	}
}

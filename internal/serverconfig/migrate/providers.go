// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// sameTypes are provider types of an API that do the same, the preferred one first.
var sameTypes = []struct {
	apis  []string
	types []string
}{
	{[]string{"agents", "responses", "eval"}, []string{"inline::builtin", "inline::meta-reference"}},
	{[]string{"file_processors"}, []string{"inline::auto", "inline::pypdf"}},
	{[]string{"inference"}, []string{"inline::sentence-transformers", "inline::transformers"}},
	{[]string{"vector_io"}, []string{"inline::faiss", "inline::builtin", "inline::meta-reference"}},
	{[]string{"vector_io"}, []string{"inline::sqlite-vec", "inline::sqlite_vec"}},
	{[]string{"tool_runtime"}, []string{"inline::file-search", "inline::rag-runtime"}},
	{[]string{"post_training"}, []string{"inline::torchtune-cpu", "inline::torchtune"}},
	{[]string{"post_training"}, []string{"inline::huggingface-gpu", "inline::huggingface"}},
}

// compatSuffix ends the names of types of llama-stack 0.2 that a type without it replaced.
const compatSuffix = "-openai-compat"

// typeFixes say what to use instead of provider types that release lines do not have. The key is API/type.
var typeFixes = map[string]string{
	"inference/remote::tgi":            "use remote::vllm with the address of TGI, whose API is like that of OpenAI",
	"inference/remote::hf::endpoint":   "use remote::openai with the address of the endpoint",
	"inference/remote::hf::serverless": "use remote::openai with the address of the service",
	"inference/inline::meta-reference": "run the model with a model server, and use remote::vllm",
}

// providers rewrites the types and configurations of all providers.
func (m *migration) providers() {
	for api, list := range document.Members(document.Child(m.root, "providers")) {
		if at, ok := m.codeInterpreter(api, list); ok {
			list.Content = slices.Delete(list.Content, at, at+1)
		}
		for i, entry := range document.Items(list) {
			m.provider(document.Entry{API: api, Index: i, Node: entry})
		}
	}
}

// codeInterpreter returns the position of the code interpreter of llama-stack 0.2, which no known release line has.
func (m *migration) codeInterpreter(api string, list *yaml.Node) (int, bool) {
	const name = "inline::code-interpreter"
	for i, entry := range document.Items(list) {
		at := document.Entry{API: api, Index: i, Node: entry}
		if api == "tool_runtime" && at.Type() == name {
			m.add(Removed, entry, at.Path(), "is removed", m.hasNo("type "+name)+", and nothing replaces it")
			return i, true
		}
	}
	return 0, false
}

func (m *migration) provider(entry document.Entry) {
	m.providerType(entry)
	row, known := m.line.Provider(entry.API, entry.Type())
	if !known {
		return
	}
	path := entry.Path() + ".config"
	if at, ok := document.IndexOf(entry.Node, "config"); ok && document.IsNull(entry.Node.Content[at]) {
		document.Drop(entry.Node, "config")
		m.add(Removed, entry.Node, path, "null is removed", "the server does not start with it")
	}
	config := entry.Config()
	if config == nil {
		config = &yaml.Node{Kind: yaml.MappingNode}
	}
	if config.Kind != yaml.MappingNode {
		return
	}
	m.endpoint(entry, row, config, path)
	m.key(entry, row, config, path)
	m.stores(entry, row, config, path)
	m.credentials(entry, row, config, path)
	m.fields(row.Fields, config, path, func(l *catalog.Line, key string) bool {
		for _, api := range []string{entry.API, otherNames[entry.API]} {
			for _, name := range m.typeNames(entry) {
				if other, ok := l.Provider(api, name); ok {
					if _, ok := other.Fields[key]; ok {
						return true
					}
				}
			}
		}
		return false
	})
	if len(config.Content) > 0 && entry.Config() == nil {
		document.Set(entry.Node, "config", config)
	}
}

// typeNames returns the type of a provider and those that do the same.
func (m *migration) typeNames(entry document.Entry) []string {
	for _, same := range sameTypes {
		if slices.Contains(same.apis, entry.API) && slices.Contains(same.types, entry.Type()) {
			return same.types
		}
	}
	return []string{entry.Type()}
}

// providerType replaces a type that the release line has by another name, and reports one that it does not have.
func (m *migration) providerType(entry document.Entry) {
	name, path := entry.Type(), entry.Path()+".provider_type"
	row, known := m.line.Provider(entry.API, name)
	_, ofLine := m.line.APIs[entry.API]
	if !ofLine || known && !row.Refused || document.Child(entry.Node, "module") != nil {
		return
	}
	n := document.Child(entry.Node, "provider_type")
	candidates := append([]string{strings.TrimSuffix(name, compatSuffix)}, m.typeNames(entry)...)
	for _, other := range candidates {
		if row, ok := m.line.Provider(entry.API, other); ok && !row.Refused {
			n.Value = other
			m.add(Rewritten, n, path, limits.Message(name)+" is "+other+" now", m.hasNo("type "+limits.Message(name)))
			return
		}
	}
	if entry.Identity().Raw == document.DisabledID || !known && !elsewhere(catalog.HasProvider(entry.API, name)) {
		return
	}
	fix := cmp.Or(typeFixes[entry.API+"/"+name], "choose one of "+limits.Names(m.line.ProviderTypes(entry.API)))
	if ref, ok := document.WholeReference(entry.Identity().Raw); ok && ref.Operator == document.IfSet {
		fix = "the server does not start if " + ref.Name + " is set; " + fix
	}
	m.add(Kept, n, path, m.hasNo("type "+name), fix)
}

// endpointFields are names of the endpoint's field on release lines whose adapter does not read it.
var endpointFields = []string{"base_url", "url", "api_base", "openai_compat_api_base"}

// endpoint renames the field of the endpoint, and completes or shortens its path as the adapter needs it.
func (m *migration) endpoint(entry document.Entry, row *catalog.Provider, config *yaml.Node, path string) {
	target, others := "", slices.Clone(endpointFields)
	var paths []string // of other release lines
	now := ""
	if row.Endpoint != nil {
		if row.Endpoint.Kind != catalog.EndpointURL {
			return
		}
		target, now = row.Endpoint.Field, row.Endpoint.DefaultPath
	}
	changedPath := false
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		other, ok := line.Provider(entry.API, entry.Type())
		if !ok || other.Endpoint == nil {
			continue
		}
		others = append(others, other.Endpoint.Field)
		paths = append(paths, other.Endpoint.DefaultPath)
		changedPath = changedPath || other.Endpoint.Field == target && other.Endpoint.DefaultPath != now
	}
	if target == "" {
		for _, name := range endpointFields {
			if _, ok := row.Fields[name]; ok && target == "" {
				target = name
			}
		}
	}
	renamed := m.renameEndpoint(row, config, target, others, path)
	if value := document.Child(config, target); value != nil && row.Endpoint != nil && (renamed || changedPath) &&
		!strings.EqualFold(document.Text(document.Child(config, "append_api_version")), "false") {
		m.endpointPath(value, now, paths, path+"."+target)
		if renamed {
			m.endpointVariable(value, now, paths, path+"."+target)
		}
	}
}

// renameEndpoint renames the field of the endpoint to the one that the release line reads.
func (m *migration) renameEndpoint(row *catalog.Provider, config *yaml.Node, target string, others []string,
	path string) bool {
	for _, p := range pairs(config) {
		_, known := row.Fields[p.key]
		switch {
		case known || target == "" || !slices.Contains(others, p.key):
		case document.Child(config, target) != nil:
			document.Drop(config, p.key)
			m.add(Removed, p.value, path+"."+p.key, "is removed", m.reads(target+", which is in the file, too"))
		default:
			document.Drop(config, target)
			rename(config, p.key, target)
			m.add(Rewritten, p.value, path+"."+p.key, "is "+target+" now", m.reads("this name"))
			if row.Endpoint == nil {
				m.add(Kept, p.value, path+"."+target, "has no effect on release line "+m.line.Name, row.Instead["endpoint"])
			}
			return true
		}
	}
	return false
}

// endpointPath adds the path of the API to an address without one, or removes it where the adapter adds it.
func (m *migration) endpointPath(n *yaml.Node, now string, others []string, path string) {
	text := document.Text(n)
	ref, whole := document.WholeReference(text)
	address := text
	if whole {
		address = ref.Value
	}
	changed := address
	if now != "" {
		changed = withPath(address, now)
	} else {
		for _, other := range others {
			rest, ok := strings.CutSuffix(strings.TrimSuffix(address, "/"), strings.TrimSuffix(other, "/"))
			if ok && other != "" && withPath(rest, other) != rest {
				changed = rest
			}
		}
	}
	if address != changed {
		n.Value = changed
		if whole {
			n.Value = "${env." + ref.Name + ":" + ref.Operator + changed + "}"
		}
		detail, reason := "ends with "+now+" now", "the server adds no path"
		if now == "" {
			detail, reason = "ends without the path of the API now", "the server adds it"
		}
		m.add(Rewritten, n, path, detail, reason)
	}
}

// endpointVariable reports an address from an environment variable, whose path may be that of another release line.
func (m *migration) endpointVariable(n *yaml.Node, now string, others []string, path string) {
	ref, whole := document.WholeReference(document.Text(n))
	if !whole || !slices.ContainsFunc(others, func(other string) bool { return other != now }) {
		return
	}
	fix := "its value must end with " + now
	if now == "" {
		fix = "its value must end without the path of the API, which the server adds"
	}
	m.add(Kept, n, path, "comes from the environment variable "+ref.Name, fix)
}

// withPath adds a path to a URL without one. Other texts stay.
func withPath(address, path string) string {
	_, host, _ := strings.Cut(document.MaskReferences(address), "://")
	if host = strings.TrimSuffix(host, "/"); host == "" || strings.ContainsAny(host, "/?#") {
		return address
	}
	return strings.TrimSuffix(address, "/") + path
}

// key renames the field of the API key.
func (m *migration) key(entry document.Entry, row *catalog.Provider, config *yaml.Node, path string) {
	if row.Key == "" || document.Child(config, row.Key) != nil {
		return
	}
	was := func(l *catalog.Line, name string) bool {
		other, ok := l.Provider(entry.API, entry.Type())
		return ok && other.Key != "" && (other.Key == name || other.Fields[name].AliasOf == other.Key)
	}
	for _, p := range pairs(config) {
		if _, known := row.Fields[p.key]; known || !elsewhere(func(l *catalog.Line) bool { return was(l, p.key) }) {
			continue
		}
		document.Drop(config, row.Key)
		rename(config, p.key, row.Key)
		m.add(Rewritten, p.value, path+"."+p.key, "is "+row.Key+" now", m.reads("this name"))
		return
	}
}

// credentials removes secret fields that only other release lines have, and says how the type authenticates.
func (m *migration) credentials(entry document.Entry, row *catalog.Provider, config *yaml.Node, path string) {
	for _, p := range pairs(config) {
		_, known := row.Fields[p.key]
		if known || !elsewhere(func(l *catalog.Line) bool {
			other, ok := l.Provider(entry.API, entry.Type())
			return ok && other.Fields[p.key].Secret
		}) {
			continue
		}
		document.Drop(config, p.key)
		reason := m.hasNo("such field")
		if instead := row.Instead["apiKey"]; row.Key == "" && instead != "" {
			reason += "; " + instead
		} else if row.Key != "" {
			reason += "; the credential is " + row.Key
		}
		m.add(Removed, p.value, path+"."+p.key, "is removed", reason)
	}
}

// neededProviders adds providers of APIs that a type needs on this release line, and not on others.
func (m *migration) neededProviders() {
	for api, list := range document.Members(document.Child(m.root, "providers")) {
		for i, n := range document.Items(list) {
			entry := document.Entry{API: api, Index: i, Node: n}
			row, known := m.line.Provider(api, entry.Type())
			if !known || entry.Identity().Presence == document.Disabled {
				continue
			}
			for _, need := range row.Needs {
				m.need(entry, need)
			}
		}
	}
}

func (m *migration) need(entry document.Entry, need string) {
	added := map[string]string{"files": "inline::localfs", "safety": "inline::llama-guard"}[need]
	row, known := m.line.Provider(need, added)
	always := !elsewhere(func(l *catalog.Line) bool { return !needs(l, need, m.typeNames(entry)) })
	if !known || always && !m.old || m.serves(need) {
		return
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	document.Set(n, "provider_id", document.String(added[strings.Index(added, "::")+2:]))
	document.Set(n, "provider_type", document.String(added))
	config := &yaml.Node{Kind: yaml.MappingNode}
	if need == "files" {
		document.Set(config, "storage_dir", document.String(m.directory()+"/files"))
	}
	list := document.Ensure(document.Child(m.root, "providers"), need, yaml.SequenceNode)
	m.requiredStores(document.Entry{API: need, Index: len(list.Content), Node: n}, row, config, "")
	document.Set(n, "config", config)
	if !m.hasProvider(need) {
		list.Content = append(list.Content, n)
	}
	if apis := document.Child(m.root, "apis"); len(document.Items(apis)) > 0 && !slices.ContainsFunc(apis.Content,
		func(n *yaml.Node) bool { return n.Value == need }) {
		apis.Content = append(apis.Content, document.String(need))
	}
	m.add(Added, entry.Node, "providers."+need, "has a provider of type "+added+" now",
		fmt.Sprintf("%s needs the API %s on release line %s", entry.Type(), need, m.line.Name))
}

// needs reports whether a release line has one of the types, under any API, and it needs an API. It returns true if the
// release line has no such type.
func needs(l *catalog.Line, need string, types []string) bool {
	for _, api := range []string{"agents", "responses"} {
		for _, name := range types {
			if row, ok := l.Provider(api, name); ok {
				return slices.Contains(row.Needs, need)
			}
		}
	}
	return true
}

// serves reports whether the file serves an API.
func (m *migration) serves(api string) bool {
	apis := document.Items(document.Child(m.root, "apis"))
	return m.hasProvider(api) && (m.line.APIs[api].Table == "" || len(apis) == 0 ||
		slices.ContainsFunc(apis, func(n *yaml.Node) bool { return n.Value == api }))
}

func (m *migration) hasProvider(api string) bool {
	return slices.ContainsFunc(document.Items(m.child("providers", api)), func(n *yaml.Node) bool {
		return document.IdentityOf(document.Child(n, "provider_id")).Presence != document.Disabled
	})
}

// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

const (
	defaultMountPath = v1alpha2.DefaultMountPath
	ogxMountPath     = "/.ogx"
	// namespaceLabel is set on each namespace to its name.
	namespaceLabel = "kubernetes.io/metadata.name"
	allNamespaces  = "*"
	configKey      = "config.yaml"
	// otherConfigKey has the configuration if it is the only key.
	otherConfigKey = "run.yaml"
	bundleKey      = "ca-bundle.crt"
	// otherBundleKey has the certificates if there is no bundleKey.
	otherBundleKey = "ca.crt"
)

// distributions are the names that the operator of OGXServer knows.
var distributions = []string{"starter", "postgres-demo"}

// Surroundings are facts about a LlamaStackDistribution that are not in its v1alpha2 spec.
type Surroundings struct {
	// NetworkPolicy means that its operator restricts a server without allowedFrom to its own namespace, too.
	NetworkPolicy bool
	// Egress are the rules of its NetworkPolicy for what the server connects to; none means that it is not restricted.
	Egress []any
	// Keys returns the keys of a ConfigMap; none for an unknown one. It may be nil.
	Keys func(configMap string) []string
}

// From converts a v1alpha2 LlamaStackDistribution to an OGXServer that its API server accepts.
func From(object map[string]any, around Surroundings) (map[string]any, []Finding) {
	s := newSource(object, unsaidByOGXServer)
	to := map[string]any{"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{}, "spec": map[string]any{}}
	metadata(s, to)
	if metadata, ok := to["metadata"].(map[string]any); ok {
		removeConversionRecord(metadata)
	}
	if get(s.tree, "spec.storage.kv.type") == string(v1alpha2.KVStoragePostgres) {
		s.drop("spec.storage.kv")
	}
	fromDefaults(s)
	const distribution = "spec.distribution.name"
	if name, _ := get(s.tree, distribution).(string); name != "" && !slices.Contains(distributions, name) {
		s.review(distribution, "the operator of OGXServer knows only "+strings.Join(distributions, " and ")+" by name",
			"name the image in spec.distribution.image")
	}
	storageTypes(s, to)
	moveFields(s, to, 0, 1)
	mountPath(s, to, defaultMountPath, ogxMountPath)
	moveReferences(s, to)
	fromDisabled(s, to)
	if name, found := take[string](s, "spec.overrideConfig.configMapName"); found {
		put(to, "spec.overrideConfig", map[string]any{"name": name, "key": around.configKey(name)})
	}
	fromTLS(s, to, fromConversionRecord(s, object), &around)
	fromExpose(s, to)
	fromAllowedFrom(s, to, around.NetworkPolicy)
	fromEgress(s, to, around.Egress)
	fromModels(s, to, fromProviders(s, to))
	for _, path := range []string{"spec.auth", "spec.externalProviders"} {
		s.drop(path)
	}
	s.removeRefused(to)
	return to, s.rest()
}

// keys returns the keys of a ConfigMap, if they are known.
func (a *Surroundings) keys(configMap string) []string {
	if a.Keys == nil {
		return nil
	}
	return a.Keys(configMap)
}

// configKey returns the key of an override's ConfigMap that has the configuration.
func (a *Surroundings) configKey(configMap string) string {
	if keys := a.keys(configMap); len(keys) == 1 && keys[0] == otherConfigKey {
		return otherConfigKey
	}
	return configKey
}

func removeConversionRecord(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, v1alpha2.ConversionAnnotation)
	if annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

// fromConversionRecord records the loss of the fields of v1alpha1 that only the conversion annotation keeps. It returns
// the trusted keys of the CA bundle, which OGXServer can name.
func fromConversionRecord(s *source, object map[string]any) (bundleKeys []string) {
	annotations, _ := get(object, "metadata.annotations").(map[string]any)
	text, _ := annotations[v1alpha2.ConversionAnnotation].(string)
	record, err := v1alpha2.ParseConversionRecord(text)
	if err != nil {
		return nil
	}
	for _, path := range v1alpha1.CarriedPaths(object) {
		kept := record.Kept[path].Was
		var bundle struct {
			ConfigMapName, ConfigMapNamespace string
			ConfigMapKeys                     []string
		}
		if path == "spec.server.tlsConfig.caBundle" && json.Unmarshal(kept, &bundle) == nil &&
			bundle.ConfigMapName == get(object, "spec.networking.tls.caBundle.configMapName") {
			bundleKeys = bundle.ConfigMapKeys
			if bundle.ConfigMapNamespace == "" {
				continue
			}
		}
		var value any
		_ = json.Unmarshal(kept, &value) // CarriedPaths has read it
		s.lose(path, value, "", "")
	}
	return bundleKeys
}

// fromDefaults writes values that OGXServer does not have by default.
func fromDefaults(s *source) {
	if budget, given := get(s.tree, "spec.workload.podDisruptionBudget").(map[string]any); given && len(budget) == 0 {
		put(s.tree, "spec.workload.podDisruptionBudget.maxUnavailable", int64(1))
	}
	if least, given := get(s.tree, "spec.workload.autoscaling.minReplicas").(int64); given && least < 1 {
		remove(s.tree, place{"spec", "workload", "autoscaling", "minReplicas"}) // at least one pod runs
	}
}

func fromDisabled(s *source, to map[string]any) {
	list, _ := take[[]any](s, "spec.disabled")
	var apis []any
	for i, item := range list {
		name, isText := item.(string)
		api := provider.SnakeCase(name)
		if api == "agents" { // the name of responses up to release line 0.6
			api = "responses"
		}
		switch {
		case !isText || !slices.Contains(schema().find("spec.disabledAPIs[]").enum, api):
			s.lose(fmt.Sprintf("spec.disabled[%d]", i), item, "", "")
		case !slices.Contains(apis, any(api)):
			apis = append(apis, api)
		}
	}
	if len(apis) > 0 {
		put(to, "spec.disabledAPIs", apis)
	}
}

func fromTLS(s *source, to map[string]any, trusted []string, around *Surroundings) {
	if enabled, found := take[bool](s, "spec.networking.tls.enabled"); found && enabled {
		if name, named := take[string](s, "spec.networking.tls.secretName"); named {
			put(to, "spec.network.tls.secretName", name)
		}
	}
	if references := append(caBundle(s, trusted, around), furtherBundles(s)...); len(references) > 0 {
		put(to, "spec.tls.trust.caCertificates", references)
	}
}

// caBundle converts the CA bundle to its trusted keys.
func caBundle(s *source, trusted []string, around *Surroundings) []any {
	const path = "spec.networking.tls.caBundle"
	name, found := take[string](s, path+".configMapName")
	if !found {
		return nil
	}
	keys := around.keys(name)
	switch {
	case len(trusted) > 0:
	case slices.Contains(keys, bundleKey):
		trusted = []string{bundleKey}
	case slices.Contains(keys, otherBundleKey):
		trusted = []string{otherBundleKey}
	case len(keys) == 1:
		trusted = keys
	default:
		trusted = []string{bundleKey}
		s.review(path, "becomes the key "+bundleKey+" of the ConfigMap",
			"if the ConfigMap has no such key, name its key in spec.tls.trust.caCertificates")
	}
	var references []any
	for _, key := range trusted {
		references = append(references, map[string]any{"name": name, "key": key})
	}
	return references
}

// furtherBundles converts the further CA bundles. One without keys becomes its default key.
func furtherBundles(s *source) []any {
	const path = "spec.networking.tls.caBundles"
	list, _ := take[[]any](s, path)
	var references []any
	for i, item := range list {
		name, _ := get(map[string]any{"item": item}, "item.configMapName").(string)
		keys, _ := get(map[string]any{"item": item}, "item.keys").([]any)
		if len(keys) == 0 {
			keys = []any{bundleKey}
			s.review(fmt.Sprintf("%s[%d]", path, i), "becomes the key "+bundleKey+" of the ConfigMap",
				"if the ConfigMap has no such key, name its key in spec.tls.trust.caCertificates")
		}
		for _, key := range keys {
			references = append(references, map[string]any{"name": name, "key": key})
		}
	}
	return references
}

func fromExpose(s *source, to map[string]any) {
	const path = "spec.networking.expose"
	value, _ := take[any](s, path)
	switch value := value.(type) {
	case nil:
	case bool:
		put(to, "spec.network.externalAccess.enabled", value)
	case map[string]any:
		access := map[string]any{"enabled": true}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			_, isBool := value[name].(bool)
			_, isText := value[name].(string)
			switch {
			case isEmpty(value[name]):
			case name == "enabled" && isBool, name == "hostname" && isText:
				access[name] = value[name]
			default:
				s.lose(memberPath(path, name), value[name], "", "")
			}
		}
		put(to, "spec.network.externalAccess", access)
	default:
		s.lose(path, value, "", "")
	}
	if get(to, "spec.network.externalAccess.enabled") == true {
		s.review(path, "some releases of the operator of OGXServer expose only with a host name and a certificate",
			"there, set spec.network.externalAccess.hostname and tls.secretName")
	}
}

// fromAllowedFrom writes a policy in any case, because OGXServer allows only its own namespace by default.
func fromAllowedFrom(s *source, to map[string]any, restricted bool) {
	var peers []any
	const pathPods = "spec.networking.allowedFrom.pods"
	pods, narrowed := take[map[string]any](s, pathPods)
	if narrowed {
		s.review(pathPods, "the operator of OGXServer allows all pods of the server's namespace",
			"check the ingress rules of its NetworkPolicy")
	}
	add := func(namespaces map[string]any) {
		peer := map[string]any{"namespaceSelector": namespaces}
		if narrowed {
			peer["podSelector"] = pods
		}
		peers = append(peers, peer)
	}
	names, _ := take[[]any](s, "spec.networking.allowedFrom.namespaces")
	for _, name := range names {
		selector := map[string]any{"matchLabels": map[string]any{namespaceLabel: name}}
		if name == allNamespaces {
			selector = map[string]any{}
		}
		if !isEmpty(name) {
			add(selector)
		}
	}
	labels, _ := take[[]any](s, "spec.networking.allowedFrom.labels")
	for _, label := range labels {
		selector := map[string]any{"matchExpressions": []any{map[string]any{"key": label, "operator": "Exists"}}}
		if !isEmpty(label) {
			add(selector)
		}
	}
	if narrowed && len(peers) == 0 {
		peers = append(peers, map[string]any{"podSelector": pods})
	}
	if len(peers) > 0 {
		ports := []any{map[string]any{"protocol": "TCP", "port": serverPort(to)}}
		put(to, "spec.network.policy.ingress", []any{map[string]any{"from": peers, "ports": ports}})
		restricted = true
	}
	put(to, "spec.network.policy.enabled", restricted)
}

// fromEgress writes out the rules of the operator.
func fromEgress(s *source, to map[string]any, rules []any) {
	const path = "spec.networking.egress"
	value, found := take[map[string]any](s, path)
	restricted := value["mode"] == string(v1alpha2.EgressProviders)
	if !found || !restricted && isEmpty(value["to"]) {
		return
	}
	if !restricted || len(rules) == 0 {
		s.lose(path, value, "", "")
		return
	}
	types := []any{"Egress"}
	if get(to, "spec.network.policy.enabled") == true {
		types = []any{"Ingress", "Egress"}
	}
	put(to, "spec.network.policy.enabled", true)
	put(to, "spec.network.policy.policyTypes", types)
	put(to, "spec.network.policy.egress", rules)
	s.review(path, "an OGXServer has the rules of today's providers, databases and issuers",
		"change spec.network.policy.egress with them")
}

// serverPort returns the port of an OGXServer.
func serverPort(object map[string]any) any {
	if port := get(object, "spec.network.port"); port != nil {
		return port
	}
	return int64(v1alpha2.DefaultPort)
}

// apis are the APIs of spec.providers that both kinds have.
var apis = []parse.ProviderAPI{
	parse.APIInference, parse.APIVectorIO, parse.APIToolRuntime, parse.APIOf("files"), parse.APIOf("file_processors"),
	parse.APIOf("batches"), parse.APIOf("responses"),
}

// fromProviders converts the providers, and returns the id of the default provider of models; empty for that of the
// base configuration.
func fromProviders(s *source, to map[string]any) (defaultModelProvider string) {
	value, _ := take[map[string]any](s, "spec.providers")
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	raw, _ := json.Marshal(map[string]any{"providers": value}) // the value comes from JSON
	if err := json.Unmarshal(raw, spec); err != nil {
		s.lose("spec.providers", value, err.Error(), "")
		return ""
	}
	parsed := parse.Parse(spec)
	for _, p := range parsed.Problems {
		s.lose(p.Path, valueAt(value, "spec.providers", p.Path), p.Body(), "correct it")
	}
	for _, group := range parsed.Providers {
		at := "spec.providers." + group.API.Field
		if !slices.Contains(apis, group.API) {
			s.lose(at, value[group.API.Field], "", "")
			continue
		}
		for i := range group.Providers {
			p := &group.Providers[i]
			if group.API == parse.APIInference && i == 0 {
				defaultModelProvider = p.EffectiveID()
			}
			if p.EndpointFrom != nil {
				s.lose(p.EndpointFrom.Path, map[string]any{}, "an OGXServer finds no addresses, so the provider is omitted",
					"set endpoint")
				continue
			}
			e, problems := s.flatten(group.API, p)
			if len(problems) > 0 {
				s.lose(p.Path, map[string]any{}, problems[0].String(), "correct it; the provider is omitted")
				continue
			}
			addProvider(to, group.API, e)
		}
	}
	return defaultModelProvider
}

var pathPart = regexp.MustCompile(`[^.\[\]]+`)

// valueAt returns the value at the path of a problem below a root; the nearest value around it if there is none.
func valueAt(tree any, root, path string) any {
	for _, part := range pathPart.FindAllString(strings.TrimPrefix(path, root), -1) {
		var value any
		switch current := tree.(type) {
		case map[string]any:
			value = current[part]
		case []any:
			if at, err := strconv.Atoi(part); err == nil && at < len(current) {
				value = current[at]
			}
		}
		if value == nil {
			return tree
		}
		tree = value
	}
	return tree
}

// flatten returns a provider with the field names of the newest release line. Fields without one are lost.
func (s *source) flatten(api parse.ProviderAPI, p *parse.Provider) (*entry, problem.List) {
	line, _ := catalog.Get(catalog.Newest())
	e := &entry{id: p.EffectiveID(), providerType: line.FullType(api.Name, p.Type), config: map[string]any{},
		secrets: map[string]any{}}
	row, known := line.Provider(api.Name, e.providerType)
	if !known {
		row = &catalog.Provider{Key: "api_key", Endpoint: &catalog.Endpoint{Kind: catalog.EndpointURL, Field: "url"}}
	}
	maps.Copy(e.config, p.Settings)
	var problems problem.Collector
	if p.Endpoint != "" && row.Endpoint != nil {
		for _, v := range provider.ResolveEndpoint(p.Endpoint, p.EndpointPath(), row.Endpoint, &problems) {
			var value any
			_ = v.Node.Decode(&value) // a string or a number
			if number, isInt := value.(int); isInt {
				value = int64(number)
			}
			e.config[v.Field] = value
		}
	}
	for _, named := range [][2]string{{row.Region, p.Region}, {row.DeploymentName, p.DeploymentName}} {
		if named[0] != "" && named[1] != "" {
			e.config[named[0]] = named[1]
		}
	}
	put := func(field string, ref parse.SecretReference) {
		e.secrets[field] = map[string]any{"name": ref.Name, "key": ref.Key}
	}
	for _, s := range p.SecretRefs {
		name := s.Field
		if _, exact := row.Fields[name]; !exact {
			name = provider.SnakeCase(name)
		}
		put(name, s.Ref)
	}
	if p.APIKey != nil && row.Key != "" {
		put(row.Key, *p.APIKey)
	}
	if p.TLS != nil {
		s.lose(p.TLS.Path, map[string]any{}, "an OGXServer has no certificates for one provider",
			"list the CA certificates in spec.tls.trust, and the client certificate in spec.tls.identity, for all providers")
	}
	s.loseUnsupported(row, p)
	return e, problems.List().Errors()
}

// loseUnsupported records the loss of each field that the provider type does not have.
func (s *source) loseUnsupported(row *catalog.Provider, p *parse.Provider) {
	for _, f := range []struct {
		name        string
		value       any
		given, none bool
	}{
		{"endpoint", p.Endpoint, p.Endpoint != "", row.Endpoint == nil},
		{"apiKey", map[string]any{}, p.APIKey != nil, row.Key == ""},
		{"region", p.Region, p.Region != "", row.Region == ""},
		{"deploymentName", p.DeploymentName, p.DeploymentName != "", row.DeploymentName == ""},
	} {
		if !f.given || !f.none {
			continue
		}
		fix := cmp.Or(row.Instead[f.name], "set the server's own field under settings")
		if row.ToolGroup == catalog.MCPToolGroups {
			fix = "register the MCP server " + inBaseConfig
		}
		s.lose(p.Path+"."+f.name, f.value, "the provider type does not have this field", fix)
	}
}

// addProvider appends a provider to the typed list of its type, or to the custom list.
func addProvider(to map[string]any, api parse.ProviderAPI, e *entry) {
	placement, _, _ := strings.Cut(e.providerType, "::")
	path := "spec.providers." + api.Field + "." + placement + ".custom"
	converted := map[string]any{"id": e.id, "type": e.providerType}
	if len(e.config) > 0 {
		converted["settings"] = e.config
	}
	if len(e.secrets) > 0 {
		converted["secretRefs"] = e.secrets
	}
	at := slices.IndexFunc(rows, func(r row) bool { return r.api == api.Field && r.providerType == e.providerType })
	if at >= 0 {
		if typed, fits := rows[at].typed(e); fits {
			path, converted = rows[at].path(), typed
			if rows[at].isSingle() {
				put(to, path, typed)
				return
			}
		}
	}
	existing, _ := get(to, path).([]any)
	put(to, path, append(existing, converted))
}

// fromModels converts the registered models. Their default provider is named, because OGXServer sorts the providers.
func fromModels(s *source, to map[string]any, defaultProvider string) {
	const path = "spec.resources.models"
	items, _ := take[[]any](s, path)
	spec := &v1alpha2.ResourcesSpec{}
	for _, item := range items {
		raw, _ := json.Marshal(item) // the value comes from JSON
		spec.Models = append(spec.Models, apiextensionsv1.JSON{Raw: raw})
	}
	parsed := parse.Parse(&v1alpha2.LlamaStackDistributionSpec{Resources: spec})
	invalid := map[string]bool{}
	for _, p := range parsed.Problems {
		item, _, _ := strings.Cut(strings.TrimPrefix(p.Path, path), ".")
		invalid[path+item] = true
		s.lose(p.Path, valueAt(items, path, p.Path), p.Body(),
			"correct it; the model is omitted")
	}
	configured := providerIDs(to)
	var models []any
	for i := range parsed.Models {
		m := &parsed.Models[i]
		id := cmp.Or(m.Provider, defaultProvider)
		switch {
		case invalid[m.Path]:
			continue
		case configured != nil && id != "" && !slices.Contains(configured, id):
			s.lose(m.Path, valueAt(items, path, m.Path),
				"an OGXServer with providers registers models only with these, and "+id+" is none of them",
				"configure the provider in spec.providers.inference")
			continue
		}
		model := map[string]any{"name": m.Name}
		for name, value := range map[string]string{"provider": id, "modelType": string(m.ModelType),
			"quantization": m.Quantization} {
			if value != "" {
				model[name] = value
			}
		}
		if m.ContextLength != nil {
			model["contextLength"] = *m.ContextLength
		}
		s.loseModelFields(m)
		models = append(models, model)
	}
	if len(models) > 0 {
		put(to, path, models)
	}
	for _, name := range []string{"tools", "shields", "vectorStores"} {
		if isEmpty(get(s.tree, "spec.resources."+name)) {
			_, _ = take[any](s, "spec.resources."+name)
		}
		s.drop("spec.resources." + name)
	}
}

func (s *source) loseModelFields(m *parse.Model) {
	if m.EmbeddingDimension != nil {
		s.lose(m.Path+".embeddingDimension", *m.EmbeddingDimension, "", "")
	}
	if m.ProviderModelID != "" {
		s.lose(m.Path+".providerModelId", m.ProviderModelID, "", "")
	}
	if len(m.Metadata) > 0 {
		s.lose(m.Path+".metadata", m.Metadata, "", "")
	}
}

// providerIDs returns the ids of all providers of an OGXServer; nil if it has none.
func providerIDs(object map[string]any) []string {
	var ids []string
	providers, _ := get(object, "spec.providers").(map[string]any)
	for _, api := range providers {
		placements, _ := api.(map[string]any)
		for _, placement := range placements {
			lists, _ := placement.(map[string]any)
			for _, list := range lists {
				entries, _ := list.([]any)
				for _, e := range entries {
					id, _ := e.(map[string]any)["id"].(string)
					ids = append(ids, id)
				}
			}
		}
	}
	return ids
}

// origins are the fields whose values are at another path in OGXServer, apart from equivalentFields.
var origins = [][2]string{
	{"spec.disabled", "spec.disabledAPIs"},
	{"spec.overrideConfig.configMapName", "spec.overrideConfig"},
	{"spec.networking.tls.secretName", "spec.network.tls"},
	{"spec.networking.tls.caBundle", "spec.tls.trust"},
	{"spec.networking.expose", "spec.network.externalAccess"},
	{"spec.networking.allowedFrom", "spec.network.policy"},
	{"spec.networking", "spec.network"},
}

// originOf returns the field of LlamaStackDistribution from which a field of OGXServer comes.
func originOf(path string) string {
	for _, pair := range slices.Concat(equivalentFields, origins) {
		rest, below := strings.CutPrefix(path, pair[1])
		if !below || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		if slices.Contains(origins, pair) {
			rest = "" // its members have other names
		}
		return pair[0] + rest
	}
	if api, below := strings.CutPrefix(path, "spec.providers."); below {
		name, _, _ := strings.Cut(api, ".")
		return "spec.providers." + name
	}
	return path
}

// removeRefused removes each value that the API server would refuse, and records its loss.
func (s *source) removeRefused(to map[string]any) {
	root := place{"spec"}
	var removed []place
	for {
		found := schema().fields["spec"].validate(root, to["spec"])
		if len(found) == 0 {
			return
		}
		// Inner and later values first: then the places of the others stay, until the next round.
		slices.SortStableFunc(found, func(a, b violation) int { return b.at.compare(a.at) })
		for i, v := range found {
			switch {
			case i > 0 && found[i-1].at.isIn(v.at):
				continue // may be valid without its inner value
			case len(v.at) == len(root):
				s.findings = append(s.findings, Finding{Path: "spec", Refused: true,
					Detail: "the API server would refuse the converted resource: " + v.detail, Fix: "correct it"})
				return
			}
			value := remove(to, v.at)
			if !slices.ContainsFunc(removed, func(part place) bool { return part.isIn(v.at) }) {
				s.lose(originOf(v.at.String()), value, "the value of an "+Kind+" "+v.detail, "set another value")
			}
			removed = append(removed, v.at)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

const (
	defaultMountPath = v1alpha2.DefaultMountPath
	ogxMountPath     = "/.ogx"
)

// namespaceLabel is set on each namespace to its name.
const namespaceLabel = "kubernetes.io/metadata.name"

// From converts a v1alpha2 LlamaStackDistribution to an OGXServer. Fields carried only by the conversion annotation are
// dropped without a Loss; see v1alpha1.CarriedPaths.
func From(object map[string]any) (map[string]any, []Loss) {
	s := newSource(object)
	to := map[string]any{"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{}, "spec": map[string]any{}}
	metadata(s, to)
	if metadata, ok := to["metadata"].(map[string]any); ok {
		removeConversionRecord(metadata)
	}
	kv := s.at([]string{"spec", "storage", "kv"})
	if kv["type"] == string(v1alpha2.KVStoragePostgres) {
		s.drop("spec.storage.kv", "OGXServer does not support PostgreSQL here", "")
	}
	moveFields(s, to, 0, 1)
	mountPath(s, to, defaultMountPath, ogxMountPath)
	for _, path := range []string{"spec.storage.kv.password", "spec.storage.sql.connectionString"} {
		if value, found := take[map[string]any](s, path); found {
			if ref, ok := reference(value); ok {
				put(to, path, ref)
			} else {
				put(s.tree, path, value)
			}
		}
	}
	if name, found := take[string](s, "spec.overrideConfig.configMapName"); found {
		put(to, "spec.overrideConfig", map[string]any{"name": name, "key": "config.yaml"})
	}
	fromNetworking(s, to)
	fromProviders(s, to)
	s.drop("spec.resources", "OGXServer registers no resources",
		"the server has the models that its providers list and those of its base configuration: "+
			"register others with overrideConfig")
	s.drop("spec.auth", "OGXServer has no authentication settings", "configure it in the ConfigMap of "+
		"overrideConfig or baseConfig")
	s.drop("spec.externalProviders", "OGXServer cannot add providers from images", "build an image with them")
	return to, s.rest()
}

func removeConversionRecord(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	delete(annotations, v1alpha2.ConversionAnnotation)
	if annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}

func fromNetworking(s *source, to map[string]any) {
	if value, found := take[any](s, "spec.networking.expose"); found && value != nil {
		raw, _ := json.Marshal(value) // the value comes from JSON
		expose, problems := parse.ExposeField(&apiextensionsv1.JSON{Raw: raw})
		switch {
		case len(problems) > 0:
			put(s.tree, "spec.networking.expose", value)
		case expose.Hostname != "":
			put(to, "spec.network.externalAccess", map[string]any{"enabled": expose.Enabled, "hostname": expose.Hostname})
		default:
			put(to, "spec.network.externalAccess", map[string]any{"enabled": expose.Enabled})
		}
	}
	if enabled, found := take[bool](s, "spec.networking.tls.enabled"); found && enabled {
		if name, named := take[string](s, "spec.networking.tls.secretName"); named {
			put(to, "spec.network.tls.secretName", name)
		}
	}
	s.drop("spec.networking.tls.caBundle", "OGXServer refers to each certificate by key in spec.tls.trust.caCertificates",
		"write it there, for example with the key ca-bundle.crt")
	var peers []any
	names, _ := take[[]any](s, "spec.networking.allowedFrom.namespaces")
	for _, name := range names {
		selector := map[string]any{"matchLabels": map[string]any{namespaceLabel: name}}
		if name == "*" {
			selector = map[string]any{}
		}
		peers = append(peers, map[string]any{"namespaceSelector": selector})
	}
	labels, _ := take[[]any](s, "spec.networking.allowedFrom.labels")
	for _, label := range labels {
		selector := map[string]any{"matchExpressions": []any{map[string]any{"key": label, "operator": "Exists"}}}
		peers = append(peers, map[string]any{"namespaceSelector": selector})
	}
	if len(peers) > 0 {
		put(to, "spec.network.policy", map[string]any{"enabled": true, "ingress": []any{map[string]any{"from": peers}}})
	}
}

// apis are the APIs of spec.providers that both kinds have.
var apis = []parse.ProviderAPI{parse.APIInference, parse.APIVectorIO, parse.APIToolRuntime}

func fromProviders(s *source, to map[string]any) {
	value, _ := take[map[string]any](s, "spec.providers")
	raw, _ := json.Marshal(map[string]any{"providers": value}) // the value comes from JSON
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := json.Unmarshal(raw, spec); err != nil {
		put(s.tree, "spec.providers", value)
		return
	}
	parsed := parse.Parse(spec)
	for _, p := range parsed.Problems {
		s.losses = append(s.losses, Loss{p.Path, p.Body(), ""})
	}
	for _, group := range parsed.Providers {
		if !slices.Contains(apis, group.API) {
			s.losses = append(s.losses, Loss{Path: "spec.providers." + group.API.Field, Detail: "OGXServer does not support " +
				"these providers"})
			continue
		}
		for i := range group.Providers {
			p := &group.Providers[i]
			if p.EndpointFrom != nil {
				s.losses = append(s.losses, Loss{p.EndpointFrom.Path, "OGXServer has no endpointFrom, so the provider is " +
					"omitted", "set endpoint"})
				continue
			}
			e, losses, problems := flatten(group.API, p)
			if len(problems) > 0 {
				s.losses = append(s.losses, Loss{p.Path, "the provider is omitted: " + problems[0].String(), ""})
				continue
			}
			s.losses = append(s.losses, losses...)
			addProvider(to, group.API, e)
		}
	}
}

// flatten returns a provider with the field names of the newest release line, and a Loss for each field without one.
func flatten(api parse.ProviderAPI, p *parse.Provider) (*entry, []Loss, problem.List) {
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
		put(s.Field, s.Ref)
	}
	if p.APIKey != nil && row.Key != "" {
		put(row.Key, *p.APIKey)
	}
	return e, unsupportedFields(row, p), problems.List().Errors()
}

// unsupportedFields returns a Loss for each field that the provider type does not have.
func unsupportedFields(row *catalog.Provider, p *parse.Provider) []Loss {
	var losses []Loss
	for _, f := range []struct {
		name        string
		given, none bool
	}{
		{"endpoint", p.Endpoint != "", row.Endpoint == nil},
		{"apiKey", p.APIKey != nil, row.Key == ""},
		{"region", p.Region != "", row.Region == ""},
		{"deploymentName", p.DeploymentName != "", row.DeploymentName == ""},
	} {
		if f.given && f.none {
			losses = append(losses, Loss{
				p.Path + "." + f.name, "the provider type does not have this field", cmp.Or(row.Instead[f.name], "set the "+
					"server's own field under settings"),
			})
		}
	}
	return losses
}

// addProvider appends a provider to the typed list of its type, or to the custom list.
func addProvider(to map[string]any, api parse.ProviderAPI, e *entry) {
	placement, _, _ := strings.Cut(e.providerType, "::")
	list, converted := "custom", map[string]any{"id": e.id, "type": e.providerType}
	at := slices.IndexFunc(rows, func(r row) bool { return r.api == api.Field && r.providerType == e.providerType })
	if at >= 0 {
		if typed, fits := rows[at].typed(e); fits {
			list, converted = rows[at].key, typed
		}
	}
	if list == "custom" {
		if len(e.config) > 0 {
			converted["settings"] = e.config
		}
		if len(e.secrets) > 0 {
			converted["secretRefs"] = e.secrets
		}
	}
	path := []string{"spec", "providers", api.Field, placement, list}
	target := &source{tree: to, opened: map[string]bool{}}
	existing, _ := target.at(path[:len(path)-1])[list].([]any)
	put(to, strings.Join(path, "."), append(existing, converted))
}

// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// To converts an OGXServer to a v1alpha2 LlamaStackDistribution.
func To(object map[string]any) (map[string]any, []Loss) {
	s := newSource(object)
	to := map[string]any{
		"apiVersion": v1alpha2.GroupVersion.String(), "kind": v1alpha2.Kind, "metadata": map[string]any{},
		"spec": map[string]any{},
	}
	metadata(s, to)
	moveFields(s, to, 1, 0)
	mountPath(s, to, ogxMountPath, defaultMountPath)
	for _, path := range []string{"spec.storage.kv.password", "spec.storage.sql.connectionString"} {
		if value, found := take[map[string]any](s, path); found {
			put(to, path, value)
		}
	}
	if override := s.at([]string{"spec", "overrideConfig"}); override["key"] == "config.yaml" {
		if name, found := take[string](s, "spec.overrideConfig.name"); found {
			put(to, "spec.overrideConfig.configMapName", name)
			delete(override, "key")
		}
	}
	s.drop("spec.overrideConfig", "a LlamaStackDistribution reads the key config.yaml", "rename the key")
	s.drop("spec.baseConfig", "a LlamaStackDistribution uses the base configuration of its distribution",
		"register a distribution with this configuration in the operator's settings, and name it in spec.distribution")
	toNetworking(s, to)
	toProviders(s, to)
	return to, s.rest()
}

func toNetworking(s *source, to map[string]any) {
	enabled, _ := take[bool](s, "spec.network.externalAccess.enabled")
	hostname, _ := take[string](s, "spec.network.externalAccess.hostname")
	switch {
	case hostname != "":
		put(to, "spec.networking.expose", map[string]any{"enabled": enabled, "hostname": hostname})
	case enabled:
		put(to, "spec.networking.expose", true)
	}
	if name, found := take[string](s, "spec.network.tls.secretName"); found {
		put(to, "spec.networking.tls", map[string]any{"enabled": true, "secretName": name})
	}
	policy := s.at([]string{"spec", "network"})["policy"]
	if allowed := allowedFrom(policy); allowed != nil {
		put(to, "spec.networking.allowedFrom", allowed)
		_, _ = take[any](s, "spec.network.policy")
	}
	s.drop("spec.network.policy", "a LlamaStackDistribution allows only whole namespaces",
		"set spec.networking.allowedFrom, or create your own NetworkPolicy")
	s.drop("spec.tls.trust", "a LlamaStackDistribution refers to one ConfigMap with all certificates", "set "+
		"spec.networking.tls.caBundle")
}

// allowedFrom converts a policy that selects only namespaces by name or label key; nil for any other policy.
func allowedFrom(policy any) map[string]any {
	object, _ := policy.(map[string]any)
	rules, _ := object["ingress"].([]any)
	rest := maps.Clone(object)
	delete(rest, "ingress")
	if enabled, given := rest["enabled"]; given && enabled == true {
		delete(rest, "enabled")
	}
	if len(rules) != 1 || len(rest) > 0 {
		return nil
	}
	rule, _ := rules[0].(map[string]any)
	peers, _ := rule["from"].([]any)
	if len(rule) != 1 || len(peers) == 0 {
		return nil
	}
	var namespaces, labels []any
	for _, peer := range peers {
		object, _ := peer.(map[string]any)
		selector, isSelector := object["namespaceSelector"].(map[string]any)
		byName, _ := selector["matchLabels"].(map[string]any)
		expressions, _ := selector["matchExpressions"].([]any)
		expression := map[string]any{}
		if len(expressions) == 1 {
			expression, _ = expressions[0].(map[string]any)
		}
		switch {
		case !isSelector || len(object) != 1 || len(selector) > 1:
			return nil
		case len(selector) == 0:
			namespaces = append(namespaces, "*")
		case len(byName) == 1 && byName[namespaceLabel] != nil:
			namespaces = append(namespaces, byName[namespaceLabel])
		case expression["operator"] == "Exists" && expression["key"] != nil && len(expression) == 2:
			labels = append(labels, expression["key"])
		default:
			return nil
		}
	}
	allowed := map[string]any{}
	if len(namespaces) > 0 {
		allowed["namespaces"] = namespaces
	}
	if len(labels) > 0 {
		allowed["labels"] = labels
	}
	return allowed
}

func toProviders(s *source, to map[string]any) {
	for _, api := range apis {
		var list []any
		for _, placement := range []string{"remote", "inline"} {
			base := "spec.providers." + api.Field + "." + placement
			for i := range rows {
				if r := &rows[i]; r.api == api.Field && placement == "remote" {
					list = append(list, s.takeTyped(base, r, api)...)
				}
			}
			list = append(list, s.takeCustom(base, api)...)
		}
		if len(list) == 1 {
			put(to, "spec.providers."+api.Field, list[0])
		} else if len(list) > 1 {
			put(to, "spec.providers."+api.Field, list)
		}
	}
}

func (s *source) takeTyped(base string, r *row, api parse.ProviderAPI) []any {
	path := base + "." + r.key
	items, _ := take[[]any](s, path)
	var list []any
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		object, isObject := item.(map[string]any)
		if !isObject {
			s.losses = append(s.losses, Loss{at, "is not an object", ""})
			continue
		}
		e, invalid := r.entry(object)
		for _, name := range invalid {
			s.losses = append(s.losses, Loss{Path: at + "." + name})
		}
		list = append(list, e.provider(api))
	}
	return list
}

func (s *source) takeCustom(base string, api parse.ProviderAPI) []any {
	items, _ := take[[]any](s, base+".custom")
	var list []any
	for i, item := range items {
		object, isObject := item.(map[string]any)
		if !isObject {
			s.losses = append(s.losses, Loss{fmt.Sprintf("%s.custom[%d]", base, i), "is not an object", ""})
			continue
		}
		at := newSource(object)
		e := &entry{}
		e.id, _ = take[string](at, "id")
		e.providerType, _ = take[string](at, "type")
		e.config, _ = take[map[string]any](at, "settings")
		e.secrets, _ = take[map[string]any](at, "secretRefs")
		for _, loss := range at.rest() {
			s.losses = append(s.losses, Loss{Path: fmt.Sprintf("%s.custom[%d].%s", base, i, loss.Path)})
		}
		if !strings.Contains(e.providerType, "::") {
			e.providerType = base[strings.LastIndex(base, ".")+1:] + "::" + e.providerType
		}
		list = append(list, e.provider(api))
	}
	return list
}

// password is a Secret key that stays in secretRefs, although apiKey could express it.
const password = "password"

// provider returns the entry with endpoint and apiKey if the newest release line has such fields.
func (e *entry) provider(api parse.ProviderAPI) map[string]any {
	line, _ := catalog.Get(catalog.Newest())
	config, secrets := maps.Clone(e.config), maps.Clone(e.secrets)
	provider := map[string]any{"id": e.id, "provider": e.providerType}
	if short := e.providerType[strings.Index(e.providerType, "::")+2:]; line.FullType(api.Name, short) == e.providerType {
		provider["provider"] = short
	}
	if e.id == "" {
		delete(provider, "id")
	}
	if r, known := line.Provider(api.Name, e.providerType); known {
		if at, isText := endpointOf(r.Endpoint, config); isText {
			provider["endpoint"] = at
		}
		if ref, found := secrets[r.Key]; found && r.Key != password {
			provider["apiKey"] = ref
			delete(secrets, r.Key)
		}
	}
	if len(config) > 0 {
		provider["settings"] = config
	}
	if len(secrets) > 0 {
		provider["secretRefs"] = secrets
	}
	return provider
}

// endpointOf removes and returns the address in a config.
func endpointOf(row *catalog.Endpoint, config map[string]any) (string, bool) {
	if row == nil {
		return "", false
	}
	host, isText := config[row.Field].(string)
	if !isText {
		return "", false
	}
	delete(config, row.Field)
	if port, isInt := config[row.PortField].(int64); isInt && row.Kind == catalog.EndpointHostPort &&
		!slices.Contains([]byte(host), ':') {
		delete(config, row.PortField)
		host += ":" + strconv.FormatInt(port, 10)
	}
	return host, true
}

// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// To converts an OGXServer to a v1alpha2 LlamaStackDistribution. keys returns the keys of a ConfigMap, and none for an
// unknown one; it may be nil.
func To(object map[string]any, keys func(configMap string) []string) (map[string]any, []Finding) {
	around := Surroundings{Keys: keys}
	s := newSource(object, unsaidByDistribution)
	to := map[string]any{
		"apiVersion": v1alpha2.GroupVersion.String(), "kind": v1alpha2.Kind, "metadata": map[string]any{},
		"spec": map[string]any{},
	}
	metadata(s, to)
	storageTypes(s, to)
	moveFields(s, to, 1, 0)
	mountPath(s, to, ogxMountPath, defaultMountPath)
	moveReferences(s, to)
	if list, found := take[[]any](s, "spec.disabledAPIs"); found && len(list) > 0 {
		put(to, "spec.disabled", list)
	}
	if name, found := take[string](s, "spec.overrideConfig.name"); found {
		put(to, "spec.overrideConfig.configMapName", name)
		if override := s.at("spec", "overrideConfig"); override["key"] == around.configKey(name) {
			delete(override, "key")
		}
	}
	if praxis := s.at("spec", "praxisMode"); praxis["enabled"] == false {
		_, _ = take[any](s, "spec.praxisMode")
	}
	toBackends(s, to)
	for _, path := range []string{"spec.baseConfig", "spec.praxisMode", "spec.tls.identity"} {
		s.drop(path)
	}
	toTrust(s, to, &around)
	toNetworking(s, to)
	toProviders(s, to)
	toModels(s, to)
	return to, s.rest()
}

// toTrust converts the CA certificates: one key of the first ConfigMap is its caBundle, the others are caBundles.
func toTrust(s *source, to map[string]any, around *Surroundings) {
	const path = "spec.tls.trust.caCertificates"
	list, _ := take[[]any](s, path)
	names, keys := make([]string, len(list)), make([]string, len(list))
	for i, item := range list {
		if ref, isReference := reference(item); isReference {
			object, _ := ref.(map[string]any)
			names[i], _ = object["name"].(string)
			keys[i], _ = object["key"].(string)
		}
	}
	first := slices.IndexFunc(names, func(name string) bool { return name != "" })
	if first >= 0 {
		put(to, "spec.networking.tls.caBundle.configMapName", names[first])
	}
	read := first
	for _, key := range []string{otherBundleKey, bundleKey} { // the latter is preferred
		for i := range list {
			if first >= 0 && names[i] == names[first] && keys[i] == key {
				read = i
			}
		}
	}
	var others []any
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case names[i] == "" || keys[i] == "":
			s.lose(at, item, "", "")
		case names[i] != names[read] || keys[i] != keys[read]:
			others = append(others, map[string]any{"configMapName": names[i], "keys": []any{keys[i]}})
		case i == read && keys[i] != bundleKey && !around.reads(names[i], keys[i]):
			s.review(at, "a LlamaStackDistribution reads the key "+bundleKey+" of the ConfigMap if it exists, else ca.crt, "+
				"else the only key", "if the ConfigMap has several keys, rename this one to "+bundleKey)
		}
	}
	if len(others) > 0 {
		put(to, "spec.networking.tls.caBundles", others)
	}
}

// reads reports whether a LlamaStackDistribution surely reads this key of a CA bundle's ConfigMap.
func (a *Surroundings) reads(configMap, key string) bool {
	keys := a.keys(configMap)
	return slices.Equal(keys, []string{key}) || key == otherBundleKey && len(keys) > 0 && !slices.Contains(keys, bundleKey)
}

func toNetworking(s *source, to map[string]any) {
	enabled, _ := take[bool](s, "spec.network.externalAccess.enabled")
	hostname, _ := take[string](s, "spec.network.externalAccess.hostname")
	secret, _ := take[string](s, "spec.network.externalAccess.tls.secretName")
	expose := map[string]any{"enabled": enabled}
	if hostname != "" {
		expose["hostname"] = hostname
	}
	if secret != "" {
		expose["tls"] = map[string]any{"secretName": secret}
	}
	switch {
	case len(expose) > 1:
		put(to, "spec.networking.expose", expose)
	case enabled:
		put(to, "spec.networking.expose", true)
	}
	if name, found := take[string](s, "spec.network.tls.secretName"); found {
		put(to, "spec.networking.tls.enabled", true)
		put(to, "spec.networking.tls.secretName", name)
	}
	toAllowedFrom(s, to)
}

// toAllowedFrom converts the policy. OGXServer allows only its own namespace by default.
func toAllowedFrom(s *source, to map[string]any) {
	const path = "spec.network.policy"
	policy, isPolicy := take[map[string]any](s, path)
	if !isPolicy && !isEmpty(get(s.tree, path)) {
		return // lost
	}
	if policy["enabled"] == false {
		return
	}
	if _, isBool := policy["enabled"].(bool); !isBool && policy["enabled"] != nil {
		s.lose(path+".enabled", policy["enabled"], reasonFor(s.unsaid, "spec").detail, reasonFor(s.unsaid, "spec").fix)
	}
	for _, name := range slices.Sorted(maps.Keys(policy)) {
		if !slices.Contains([]string{"enabled", "policyTypes", "ingress", "egress"}, name) {
			s.lose(memberPath(path, name), policy[name], reasonFor(s.unsaid, "spec").detail, reasonFor(s.unsaid, "spec").fix)
		}
	}
	types, _ := policy["policyTypes"].([]any)
	outbound, isList := policy["egress"].([]any)
	switch {
	case isList && len(outbound) > 0 && (len(types) == 0 || slices.Contains(types, any("Egress"))):
		put(to, "spec.networking.egress", map[string]any{"mode": string(v1alpha2.EgressProviders), "to": outbound})
		s.review(path+".egress", "the operator also allows what it knows of the spec, and DNS",
			"remove the rules that it makes itself")
	case !isEmpty(policy["egress"]):
		s.lose(path+".egress", policy["egress"], "", "")
	case slices.Contains(types, any("Egress")):
		s.lose(path+".policyTypes", types, "", "")
	}
	if len(types) > 0 && !slices.Contains(types, any("Ingress")) {
		return // clients are not restricted
	}
	allowed := map[string]any{}
	rules, _ := policy["ingress"].([]any)
	pods := commonPods(rules)
	for i, rule := range rules {
		allowedByRule(s, fmt.Sprintf("%s.ingress[%d]", path, i), rule, pods, serverPortOf(to), allowed)
	}
	if len(allowed) > 0 && pods != nil {
		allowed["pods"] = pods
		s.review(path+".ingress", "the operator of OGXServer allows all pods of the server's namespace, and "+
			"allowedFrom.pods narrows these too", "to allow none of them, set spec.networking.allowedFrom.exclusive")
	}
	if len(allowed) == 0 {
		own, _ := get(to, "metadata.namespace").(string)
		if own == "" {
			s.review("spec.network", "without allowedFrom, a LlamaStackDistribution allows all clients, and an OGXServer only "+
				"those of its own namespace", "to allow only those, add this namespace to spec.networking.allowedFrom.namespaces")
			return
		}
		allowed["namespaces"] = []any{own}
	}
	put(to, "spec.networking.allowedFrom", allowed)
}

func serverPortOf(object map[string]any) int64 {
	if port, given := get(object, "spec.networking.port").(int64); given {
		return port
	}
	return int64(v1alpha2.DefaultPort)
}

// commonPods returns the pod selector that all peers with a selector of namespaces have, or nil.
func commonPods(rules []any) (common map[string]any) {
	for _, rule := range rules {
		rule, _ := rule.(map[string]any)
		peers, _ := rule["from"].([]any)
		for _, peer := range peers {
			peer, _ := peer.(map[string]any)
			if peer["namespaceSelector"] == nil {
				continue
			}
			pods, _ := peer["podSelector"].(map[string]any)
			if !selectsPods(pods) || common != nil && !reflect.DeepEqual(common, pods) {
				return nil
			}
			common = pods
		}
	}
	return common
}

// selectsPods reports whether the value is a valid selector that does not select all pods.
func selectsPods(pods map[string]any) bool {
	var selector metav1.LabelSelector
	if runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(pods, &selector, true) != nil {
		return false
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	return err == nil && !parsed.Empty()
}

// allowedByRule adds the namespaces that a rule allows to reach the server's port, for the pods that all rules select.
func allowedByRule(s *source, path string, value any, pods map[string]any, port int64, allowed map[string]any) {
	rule, _ := value.(map[string]any)
	peers, _ := rule["from"].([]any)
	ports, _ := rule["ports"].([]any)
	reached := len(ports) == 0
	for _, p := range ports {
		reached = reached || isPort(p, port)
	}
	for name := range rule {
		reached = reached && (name == "from" || name == "ports")
	}
	if !reached || len(peers) == 0 {
		s.lose(path, value, "", "")
		return
	}
	for i, p := range ports {
		if !isPort(p, port) {
			s.lose(fmt.Sprintf("%s.ports[%d]", path, i), p, "", "")
		}
	}
	for i, peer := range peers {
		narrowed := peer
		if object, _ := peer.(map[string]any); pods != nil && object["namespaceSelector"] != nil {
			object = maps.Clone(object)
			delete(object, "podSelector")
			narrowed = object
		}
		field, name, understood := namespaceOf(narrowed)
		if !understood {
			s.lose(fmt.Sprintf("%s.from[%d]", path, i), peer, "", "")
			continue
		}
		for _, name := range name {
			list, _ := allowed[field].([]any)
			if !slices.Contains(list, name) {
				allowed[field] = append(list, name)
			}
		}
	}
}

// isPort reports whether an entry of a NetworkPolicy is only the server's port.
func isPort(value any, port int64) bool {
	object, _ := value.(map[string]any)
	for name, value := range object {
		if name != "port" && (name != "protocol" || value != "TCP") && value != nil {
			return false
		}
	}
	return object["port"] == port
}

// namespaceOf returns the names or label keys of the namespaces that a peer selects with all their pods, and the field
// of allowedFrom for them. It returns no name for the server's own namespace, which is always allowed.
func namespaceOf(peer any) (field string, names []any, understood bool) {
	object, isObject := peer.(map[string]any)
	namespaces, hasNamespaces := object["namespaceSelector"].(map[string]any)
	pods := object["podSelector"]
	for name, value := range object {
		if name != "namespaceSelector" && name != "podSelector" && value != nil {
			return "", nil, false
		}
	}
	switch {
	case !isObject || !hasNamespaces && object["namespaceSelector"] != nil:
		return "", nil, false
	case !hasNamespaces:
		_, isSelector := pods.(map[string]any)
		return "", nil, isSelector
	case !isEmpty(pods):
		if selector, _ := pods.(map[string]any); !isEmpty(selector["matchLabels"]) || !isEmpty(selector["matchExpressions"]) {
			return "", nil, false
		}
	}
	labels, _ := namespaces["matchLabels"].(map[string]any)
	expressions, _ := namespaces["matchExpressions"].([]any)
	for name := range namespaces {
		if name != "matchLabels" && name != "matchExpressions" {
			return "", nil, false
		}
	}
	switch {
	case len(labels)+len(expressions) == 0:
		isEmptySelector := isEmpty(namespaces["matchLabels"]) && isEmpty(namespaces["matchExpressions"])
		return "namespaces", []any{allNamespaces}, isEmptySelector
	case len(labels) == 1 && len(expressions) == 0:
		name, isText := labels[namespaceLabel].(string)
		return "namespaces", []any{name}, isText
	case len(labels) == 0 && len(expressions) == 1:
		return namespacesOf(expressions[0])
	}
	return "", nil, false
}

func namespacesOf(value any) (field string, names []any, understood bool) {
	expression, _ := value.(map[string]any)
	key, isText := expression["key"].(string)
	values, _ := expression["values"].([]any)
	switch {
	case !isText || key == "":
	case expression["operator"] == "In" && key == namespaceLabel && len(values) > 0:
		areTexts := !slices.ContainsFunc(values, func(v any) bool { _, isText := v.(string); return !isText })
		return "namespaces", values, areTexts
	case expression["operator"] == "Exists" && len(values) == 0 && key == namespaceLabel:
		return "namespaces", []any{allNamespaces}, true
	case expression["operator"] == "Exists" && len(values) == 0:
		return "labels", []any{key}, true
	}
	return "", nil, false
}

func toProviders(s *source, to map[string]any) {
	for _, api := range apis {
		var list []any
		base := "spec.providers." + api.Field
		for _, placement := range []string{"remote", "inline"} {
			for i := range rows {
				if r := &rows[i]; r.api == api.Field && strings.HasPrefix(r.list, placement) {
					list = append(list, s.takeTyped(r, api)...)
				}
			}
			list = append(list, s.takeCustom(base+"."+placement, api)...)
		}
		if len(list) == 1 {
			put(to, base, list[0])
		} else if len(list) > 1 {
			put(to, base, list)
		}
	}
}

func (s *source) takeTyped(r *row, api parse.ProviderAPI) []any {
	path := r.path()
	if r.isSingle() {
		if object, found := take[map[string]any](s, path); found {
			return []any{s.fromTyped(r, api, object, path)}
		}
		return nil
	}
	items, _ := take[[]any](s, path)
	var list []any
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		object, isObject := item.(map[string]any)
		if !isObject {
			s.lose(at, item, "", "")
			continue
		}
		list = append(list, s.fromTyped(r, api, object, at))
	}
	return list
}

// fromTyped converts an entry of the row at a path. Invalid fields are lost.
func (s *source) fromTyped(r *row, api parse.ProviderAPI, object map[string]any, at string) map[string]any {
	e, invalid := r.entry(object)
	for _, name := range invalid {
		s.lose(memberPath(at, name), object[name], "", "")
	}
	return e.provider(api)
}

func (s *source) takeCustom(base string, api parse.ProviderAPI) []any {
	items, _ := take[[]any](s, base+".custom")
	var list []any
	for i, item := range items {
		object, isObject := item.(map[string]any)
		if !isObject {
			s.lose(fmt.Sprintf("%s.custom[%d]", base, i), item, "", "")
			continue
		}
		at := newSource(object, nil)
		e := &entry{}
		e.id, _ = take[string](at, "id")
		e.providerType, _ = take[string](at, "type")
		e.config, _ = take[map[string]any](at, "settings")
		e.secrets, _ = take[map[string]any](at, "secretRefs")
		for _, name := range slices.Sorted(maps.Keys(at.tree)) {
			if at.tree[name] != nil {
				s.lose(memberPath(fmt.Sprintf("%s.custom[%d]", base, i), name), at.tree[name], "", "")
			}
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

// provider returns the entry with endpoint and apiKey if the newest release line has such fields. It names the id that
// the operator of OGXServer would give, because models refer to it.
func (e *entry) provider(api parse.ProviderAPI) map[string]any {
	line, _ := catalog.Get(catalog.Newest())
	config, secrets := maps.Clone(e.config), maps.Clone(e.secrets)
	provider := map[string]any{"id": e.id, "provider": e.providerType}
	if short := e.providerType[strings.Index(e.providerType, "::")+2:]; line.FullType(api.Name, short) == e.providerType {
		provider["provider"] = short
	}
	if e.id == "" && !line.HasOneProvider(api.Name) {
		provider["id"] = defaultID(e.providerType)
	} else if e.id == "" {
		delete(provider, "id") // nothing refers to it
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

// toModels converts the registered models. A model with a type that only its dimension completes is lost.
func toModels(s *source, to map[string]any) {
	const path = "spec.resources.models"
	items, _ := take[[]any](s, path)
	known := schema().find(path + "[]")
	var models []any
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", path, i)
		object, isObject := item.(map[string]any)
		model := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			length, isLength := object[name].(int64)
			switch f := known.fields[name]; {
			case object[name] == nil:
			case f == nil || isEmpty(object[name]) || len(f.validate(nil, object[name])) > 0, isLength && length < 1:
				s.lose(memberPath(at, name), object[name], "", "")
			default:
				model[name] = object[name]
			}
		}
		switch modelType, _ := model["modelType"].(string); {
		case !isObject || model["name"] == nil:
			s.lose(at, item, "", "")
		case modelType == string(v1alpha2.ModelTypeEmbedding):
			s.lose(at, item, "a LlamaStackDistribution needs the dimension of an embedding model",
				"register it in spec.resources.models with embeddingDimension")
		case !slices.Contains([]string{"", string(v1alpha2.ModelTypeLLM), string(v1alpha2.ModelTypeRerank)}, modelType):
			s.lose(at, item, "a LlamaStackDistribution registers models of type llm, embedding or rerank",
				"register it with one of these types")
		default:
			models = append(models, model)
		}
	}
	if len(models) > 0 {
		put(to, path, models)
	}
}

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// endpointKinds returns the kinds in endpointFrom of the API's providers: model servers only serve inference.
func (a ProviderAPI) endpointKinds() []EndpointKind {
	if a == APIInference {
		return []EndpointKind{KindInferenceService, KindLLMInferenceService, KindService}
	}
	return []EndpointKind{KindService}
}

// ProviderGroup holds the providers of an API in spec order.
type ProviderGroup struct {
	API       ProviderAPI
	Providers []Provider
}

// Find returns the provider of an API with an effective id, or nil.
func Find(groups []ProviderGroup, api, id string) *Provider {
	for _, group := range groups {
		if group.API.Name != api {
			continue
		}
		for i := range group.Providers {
			if p := &group.Providers[i]; p.EffectiveID() == id {
				return p
			}
		}
	}
	return nil
}

// MaxProviderIDLength is the maximum length of a provider id in characters.
const MaxProviderIDLength = 63

var (
	providerIDPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	// reservedProviderIDs have a meaning for the server: register a model with every provider, or disable an entry.
	reservedProviderIDs = []string{"all", "__disabled__"}

	providerFields = []string{
		"id", "provider", "endpoint", "endpointFrom", "apiKey", "settings", "region", "deploymentName", "secretRefs",
		"tls",
	}
)

// ProviderFields returns the fields of an entry in spec.providers.
func ProviderFields() []string { return slices.Clone(providerFields) }

// EffectiveID returns the provider_id: the explicit one, or else the provider type after the last "::".
func (p *Provider) EffectiveID() string {
	if p.ID != "" {
		return p.ID
	}
	return p.Type[strings.LastIndex(p.Type, ":")+1:]
}

// parseProviders parses spec.providers into one group for each API with providers, in the order of APIs. It
// checks that ids are valid, unique over all APIs, and present in lists.
func parseProviders(spec *v1alpha2.ProvidersSpec) ([]ProviderGroup, problem.List) {
	if spec == nil {
		return nil, nil
	}
	var groups []ProviderGroup
	var problems problem.List
	path := field.NewPath("spec", "providers")
	for _, name := range fieldsInOrder(spec) {
		at := slices.IndexFunc(allAPIs(), func(api ProviderAPI) bool { return api.Field == name })
		if at < 0 {
			problems = append(problems, unknownField(path, name, apiFields(), ""))
			continue
		}
		api := allAPIs()[at]
		providers, found := parseProviderField(spec.Field(name), path.Child(name), api.endpointKinds())
		problems = append(problems, found...)
		if len(providers) > 0 {
			groups = append(groups, ProviderGroup{API: api, Providers: providers})
		}
	}
	return groups, append(problems, duplicateIDs(groups)...)
}

// parseProviderField parses the providers of an API: an object, or a list in which several objects need ids.
func parseProviderField(raw *apiextensionsv1.JSON, path *field.Path, kinds []EndpointKind) ([]Provider, problem.List) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	v, problems := decode(raw.Raw, path)
	if len(problems) > 0 {
		return nil, problems
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		p, problems := parseProvider(v, path, kinds)
		return []Provider{p}, problems
	case []any:
		return parseProviderList(v, path, kinds)
	default:
		return nil, problem.List{wrongType(path, "a provider object or a list of provider objects", "for example "+
			"{provider: vllm}")}
	}
}

func parseProviderList(items []any, path *field.Path, kinds []EndpointKind) ([]Provider, problem.List) {
	if len(items) == 0 {
		return nil, problem.List{invalid(path, "is an empty list", "remove the field, or add a provider")}
	}
	var providers []Provider
	var problems problem.List
	for i, item := range items {
		itemPath := path.Index(i)
		m, ok := item.(map[string]any)
		if !ok {
			problems = append(problems, wrongType(itemPath, "a provider object", "for example {provider: vllm}"))
			continue
		}
		p, found := parseProvider(m, itemPath, kinds)
		if p.ID == "" && len(items) > 1 && !isReported(found, itemPath.Child("id")) {
			found = append(found, missing(itemPath.Child("id"), "each provider in a list needs an id", fmt.Sprintf("for "+
				"example id: %s-%d", exampleID(&p), i+1)))
		}
		providers = append(providers, p)
		problems = append(problems, found...)
	}
	return providers, problems
}

func isReported(problems problem.List, path *field.Path) bool {
	return slices.ContainsFunc(problems, func(p problem.Problem) bool { return p.Path == path.String() })
}

func exampleID(p *Provider) string {
	if id := p.EffectiveID(); providerIDPattern.MatchString(id) {
		return id
	}
	return "provider"
}

func parseProvider(m map[string]any, path *field.Path, kinds []EndpointKind) (Provider, problem.List) {
	o := newObject(path, m)
	p := Provider{
		ID:             o.getString("id"),
		Type:           o.getRequiredString("provider", "vllm; docs/providers.md lists the providers of each API"),
		Endpoint:       o.getString("endpoint"),
		Region:         o.getString("region"),
		DeploymentName: o.getString("deploymentName"),
		Path:           path.String(),
	}
	p.EndpointFrom = o.getEndpointFrom(p.Endpoint, kinds...)
	p.APIKey = o.getAPIKey()
	p.Settings, p.SettingsField = o.getSettings()
	p.TLS = o.getTLS()
	p.SecretRefs = o.getSecretRefs(providerFields)
	for _, key := range o.remaining() {
		o.report(unknownField(path, key, providerFields,
			"; options of the provider go under settings, values from Secrets under secretRefs"))
	}
	if p.Type != "" {
		o.report(checkProviderID(&p, path)...)
	}
	return p, o.problems
}

func (o *object) getAPIKey() *SecretReference {
	v, ok := o.take("apiKey")
	if !ok {
		return nil
	}
	ref, problems := parseSecretRef(v, o.path.Child("apiKey"))
	o.report(problems...)
	return &ref
}

// getSettings takes "settings" or "config", which is an alias from the quickstart.
func (o *object) getSettings() (map[string]any, string) {
	_, hasSettings := o.values["settings"]
	_, hasConfig := o.values["config"]
	if hasSettings && hasConfig {
		o.report(conflicting(o.path.Child("config"), "is an alias of settings"))
	}
	settings, config := o.getMap("settings"), o.getMap("config")
	if hasConfig && !hasSettings {
		return config, "config"
	}
	return settings, "settings"
}

// getSecretRefs takes "secretRefs" and every secret reference under a key that is not one of fields, sorted.
func (o *object) getSecretRefs(fields []string) []SecretField {
	var refs []SecretField
	add := func(name string, v any, path *field.Path, direct bool) {
		ref, problems := parseSecretRef(v, path)
		o.report(problems...)
		if len(problems) == 0 {
			refs = append(refs, SecretField{Field: name, Ref: ref, Direct: direct, Path: path.String()})
		}
	}
	explicit := o.getMap("secretRefs")
	for _, name := range slices.Sorted(maps.Keys(explicit)) {
		add(name, explicit[name], o.path.Child("secretRefs").Key(name), false)
	}
	for _, name := range o.remaining() {
		if !looksLikeSecretRef(o.values[name]) || differsInCase(name, fields) {
			continue
		}
		v, _ := o.take(name)
		if _, twice := explicit[name]; twice {
			o.report(conflicting(o.path.Child(name), "is also in secretRefs"))
			continue
		}
		add(name, v, o.path.Child(name), true)
	}
	slices.SortFunc(refs, func(a, b SecretField) int { return strings.Compare(a.Field, b.Field) })
	return refs
}

// differsInCase reports whether a name equals a known field except for its case.
func differsInCase(name string, fields []string) bool {
	return slices.ContainsFunc(fields, func(known string) bool { return strings.EqualFold(name, known) })
}

func checkProviderID(p *Provider, path *field.Path) problem.List {
	id, path, fix := p.ID, path.Child("id"), "choose another id"
	if id == "" {
		id, fix = p.EffectiveID(), "set id, because the default from provider is invalid"
	}
	switch {
	case slices.Contains(reservedProviderIDs, id):
		return problem.List{newProblem(problem.Problem{
			Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeInvalid, Value: id, Detail: "has another " +
				"meaning for the server", Fix: fix,
		})}
	case len(id) > MaxProviderIDLength:
		return problem.List{invalid(path, fmt.Sprintf("an id has at most %d characters", MaxProviderIDLength), fix)}
	case !providerIDPattern.MatchString(id):
		return problem.List{invalid(path, "an id consists of letters, digits, '.', '_' and '-', and begins and ends with a "+
			"letter or digit", fix)}
	}
	return nil
}

// duplicateIDs reports each id with more than one provider, with all paths: in any of the APIs with a field in the
// schema, or in one of the others, several of which have a type of the name builtin.
func duplicateIDs(groups []ProviderGroup) problem.List {
	users := map[[2]string][]string{}
	details := map[string]string{"": "ids must be unique over all APIs, and this one is used by "}
	for _, g := range groups {
		scope := ""
		if slices.Index(allAPIs(), g.API) > slices.Index(allAPIs(), APITelemetry) {
			scope = g.API.Name
			details[scope] = "ids must be unique in an API, and this one is used by "
		}
		for i := range g.Providers {
			p := &g.Providers[i]
			if p.Type == "" || (p.ID == "" && len(g.Providers) > 1) {
				continue // already reported
			}
			key := [2]string{p.EffectiveID(), scope}
			users[key] = append(users[key], p.Path)
		}
	}
	var problems problem.List
	compare := func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }
	for _, key := range slices.SortedFunc(maps.Keys(users), compare) {
		if at := users[key]; len(at) > 1 {
			problems = append(problems, newProblem(problem.Problem{
				Reason: problem.DuplicateProviderID, Path: at[len(at)-1] + ".id", Type: field.ErrorTypeDuplicate, Value: key[0],
				Detail: details[key[1]] + limits.List(at, " and "),
				Fix:    "use unique ids",
			}))
		}
	}
	return problems
}

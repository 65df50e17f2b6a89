// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ProviderAPI is one of the APIs that spec.providers configures.
//
// +kubebuilder:object:generate=false
type ProviderAPI struct {
	// Field is the name of the field in the resource, such as "vectorIo".
	Field string
	// Name is the server's name of the API, such as "vector_io".
	Name string
}

// The APIs of spec.providers.
var (
	APIInference   = ProviderAPI{Field: "inference", Name: "inference"}
	APISafety      = ProviderAPI{Field: "safety", Name: "safety"}
	APIVectorIO    = ProviderAPI{Field: "vectorIo", Name: "vector_io"}
	APIToolRuntime = ProviderAPI{Field: "toolRuntime", Name: "tool_runtime"}
	APITelemetry   = ProviderAPI{Field: "telemetry", Name: "telemetry"}
)

// ProviderGroup are the providers of one API, in the user's order.
//
// +kubebuilder:object:generate=false
type ProviderGroup struct {
	API       ProviderAPI
	Providers []ProviderConfig
}

// MaxProviderIDLength is the longest provider id, in characters.
const MaxProviderIDLength = 63

var (
	providerIDPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	// reservedProviderIDs mean something to the server: "all" registers a model with every provider,
	// "__disabled__" turns an entry off.
	reservedProviderIDs = []string{"all", "__disabled__"}

	providerFields = []string{
		"id", "provider", "endpoint", "apiKey", "settings", "region", "deploymentName", "secretRefs",
	}
)

// EffectiveID is the id under which the server knows the provider: the explicit one, else what follows the last
// "::" of the provider type.
func (p *ProviderConfig) EffectiveID() string {
	if p.ID != "" {
		return p.ID
	}
	return p.Provider[strings.LastIndex(p.Provider, ":")+1:]
}

// ParseProviders reads spec.providers: one group for each API that has providers, in the order of ProvidersSpec.
// An absent spec gives no groups. Ids are checked for form, presence in lists and uniqueness over all APIs.
func ParseProviders(spec *ProvidersSpec) ([]ProviderGroup, field.ErrorList) {
	if spec == nil {
		return nil, nil
	}
	var groups []ProviderGroup
	var errs field.ErrorList
	for _, f := range []struct {
		api ProviderAPI
		raw *apiextensionsv1.JSON
	}{
		{APIInference, spec.Inference},
		{APISafety, spec.Safety},
		{APIVectorIO, spec.VectorIo},
		{APIToolRuntime, spec.ToolRuntime},
		{APITelemetry, spec.Telemetry},
	} {
		providers, fieldErrs := ParseProviderField(f.raw, field.NewPath("spec", "providers", f.api.Field))
		errs = append(errs, fieldErrs...)
		if len(providers) > 0 {
			groups = append(groups, ProviderGroup{API: f.api, Providers: providers})
		}
	}
	return groups, append(errs, duplicateIDs(groups)...)
}

// ParseProviderField reads the providers of one API: an object, or a list of objects in which each names its id as
// soon as there is more than one. Absent and null give none.
func ParseProviderField(raw *apiextensionsv1.JSON, path *field.Path) ([]ProviderConfig, field.ErrorList) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	v, errs := decode(raw.Raw, path)
	if len(errs) > 0 {
		return nil, errs
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		p, errs := parseProvider(v, path)
		return []ProviderConfig{p}, errs
	case []any:
		return parseProviderList(v, path)
	default:
		return nil, field.ErrorList{wrongType(path, "a provider object or a list of provider objects")}
	}
}

func parseProviderList(items []any, path *field.Path) ([]ProviderConfig, field.ErrorList) {
	if len(items) == 0 {
		return nil, field.ErrorList{invalid(path, "an empty list configures nothing: remove the field, or name a provider")}
	}
	var providers []ProviderConfig
	var errs field.ErrorList
	for i, item := range items {
		itemPath := path.Index(i)
		m, ok := item.(map[string]any)
		if !ok {
			errs = append(errs, wrongType(itemPath, "a provider object"))
			continue
		}
		p, itemErrs := parseProvider(m, itemPath)
		if p.ID == "" && len(items) > 1 && !isReported(itemErrs, itemPath.Child("id")) {
			itemErrs = append(itemErrs, field.Required(itemPath.Child("id"),
				fmt.Sprintf("each provider of a list needs an id: for example id: %s-%d", exampleID(&p), i+1)))
		}
		providers = append(providers, p)
		errs = append(errs, itemErrs...)
	}
	return providers, errs
}

// isReported reports whether something is wrong with a field already.
func isReported(errs field.ErrorList, path *field.Path) bool {
	return slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Field == path.String() })
}

func exampleID(p *ProviderConfig) string {
	if id := p.EffectiveID(); providerIDPattern.MatchString(id) {
		return id
	}
	return "provider"
}

func parseProvider(m map[string]any, path *field.Path) (ProviderConfig, field.ErrorList) {
	o := newObject(path, m)
	p := ProviderConfig{
		ID:             o.getString("id"),
		Provider:       o.getRequiredString("provider", "vllm; docs/providers.md lists the providers of each API"),
		Endpoint:       o.getString("endpoint"),
		Region:         o.getString("region"),
		DeploymentName: o.getString("deploymentName"),
		Path:           path.String(),
	}
	if v, ok := o.take("apiKey"); ok {
		ref, errs := ParseSecretRef(v, path.Child("apiKey"))
		o.fail(errs...)
		p.APIKey = &ref
	}
	p.Settings, p.SettingsField = o.getSettings()
	p.SecretRefs = o.getSecretRefs()
	for _, key := range o.rest() {
		o.fail(unknownField(path, key, providerFields,
			"; options of the provider itself go under settings, values from Secrets under secretRefs"))
	}
	if p.Provider != "" {
		o.fail(checkProviderID(&p, path)...)
	}
	return p, o.errs
}

// getSettings takes "settings" or "config", the quickstart's name for the same thing.
func (o *object) getSettings() (map[string]any, string) {
	_, hasSettings := o.values["settings"]
	_, hasConfig := o.values["config"]
	if hasSettings && hasConfig {
		o.fail(field.Forbidden(o.path.Child("config"), "config is another name for settings: keep one of them"))
	}
	settings, config := o.getMap("settings"), o.getMap("config")
	if hasConfig && !hasSettings {
		return config, "config"
	}
	return settings, "settings"
}

// getSecretRefs takes "secretRefs" and every other key whose value is a secret reference, sorted by field.
func (o *object) getSecretRefs() []SecretField {
	var refs []SecretField
	add := func(name string, v any, path *field.Path) {
		ref, errs := ParseSecretRef(v, path)
		o.fail(errs...)
		if len(errs) == 0 {
			refs = append(refs, SecretField{Field: name, Ref: ref, Path: path.String()})
		}
	}
	explicit := o.getMap("secretRefs")
	for _, name := range slices.Sorted(maps.Keys(explicit)) {
		add(name, explicit[name], o.path.Child("secretRefs").Key(name))
	}
	for _, name := range o.rest() {
		if !looksLikeSecretRef(o.values[name]) {
			continue
		}
		v, _ := o.take(name)
		if _, twice := explicit[name]; twice {
			o.fail(field.Forbidden(o.path.Child(name), "also given in secretRefs: keep one of them"))
			continue
		}
		add(name, v, o.path.Child(name))
	}
	slices.SortFunc(refs, func(a, b SecretField) int { return strings.Compare(a.Field, b.Field) })
	return refs
}

func checkProviderID(p *ProviderConfig, path *field.Path) field.ErrorList {
	id, path, mend := p.ID, path.Child("id"), "choose another id"
	if id == "" {
		id, mend = p.EffectiveID(), "give an id: the one taken from provider does not serve"
	}
	switch {
	case slices.Contains(reservedProviderIDs, id):
		return field.ErrorList{invalid(path, fmt.Sprintf("%q means something else to the server: %s", id, mend))}
	case len(id) > MaxProviderIDLength:
		return field.ErrorList{invalid(path, fmt.Sprintf("an id has at most %d characters: %s", MaxProviderIDLength, mend))}
	case !providerIDPattern.MatchString(id):
		return field.ErrorList{invalid(path,
			"an id consists of letters, digits, '.', '_' and '-', and begins and ends with a letter or digit: "+mend)}
	}
	return nil
}

// duplicateIDs reports every id that more than one provider has, over all APIs, with all the places.
func duplicateIDs(groups []ProviderGroup) field.ErrorList {
	places := map[string][]string{}
	for _, g := range groups {
		for i := range g.Providers {
			p := &g.Providers[i]
			if p.Provider == "" || (p.ID == "" && len(g.Providers) > 1) {
				continue // reported already: there is no id to compare
			}
			places[p.EffectiveID()] = append(places[p.EffectiveID()], p.Path)
		}
	}
	var errs field.ErrorList
	for _, id := range slices.Sorted(maps.Keys(places)) {
		if at := places[id]; len(at) > 1 {
			err := field.Duplicate(nil, id)
			err.Field = at[len(at)-1] + ".id"
			err.Detail = fmt.Sprintf("the provider id is used by %s; ids are unique over all APIs: give each its own id",
				strings.Join(at, " and "))
			errs = append(errs, err)
		}
	}
	return errs
}

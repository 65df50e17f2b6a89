// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// ExternalProvider is a parsed entry of spec.externalProviders.
type ExternalProvider struct {
	// Provider holds the fields shared with spec.providers. Its Type is empty, because the package defines it.
	Provider
	API   ProviderAPI
	Image string
	// ImagePullPolicy is the pull policy in the spec, if any.
	ImagePullPolicy corev1.PullPolicy
	// Package describes the package; nil if a file in the image does.
	Package *ProviderPackage
}

// MaxExternalIDLength is the maximum length of an external provider's id, which ends the name of a container.
const MaxExternalIDLength = 46

var (
	externalIDPattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	externalFields    = []string{"providerId", "image", "imagePullPolicy", "endpoint", "apiKey", "secretRefs", "config",
		"package"}
	pullPolicies = []string{string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)}
)

// parseExternal parses spec.externalProviders. inline are the providers of the spec, which may share an id with an
// external provider only in the same API.
func parseExternal(raw *apiextensionsv1.JSON, inline []ProviderGroup) ([]ExternalProvider, problem.List) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, nil
	}
	path := field.NewPath("spec", "externalProviders")
	v, problems := decode(raw.Raw, path)
	if len(problems) > 0 || v == nil {
		return nil, problems
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, problem.List{
			wrongType(path, "an object with a list of providers for each API", "for example {inference: [{providerId: mine, "+
				"image: registry.example.com/provider:1}]}"),
		}
	}
	o := newObject(path, m)
	var providers []ExternalProvider
	var names []string
	for _, api := range ConfigurableAPIs() {
		names = append(names, api.Field)
		if v, ok := o.take(api.Field); ok {
			found, problems := parseExternalAPI(v, api, path.Child(api.Field))
			providers = append(providers, found...)
			o.report(problems...)
		}
	}
	o.rejectUnknown(names)
	if len(providers) > limits.ExternalProviders {
		return nil, problem.List{tooMany(path, len(providers), limits.ExternalProviders)}
	}
	return providers, append(o.problems, sharedIDs(providers, inline)...)
}

// parseExternalAPI parses the external providers of an API: an object or a list.
func parseExternalAPI(v any, api ProviderAPI, path *field.Path) ([]ExternalProvider, problem.List) {
	const example = "for example {providerId: mine, image: registry.example.com/provider:1}"
	switch v := v.(type) {
	case map[string]any:
		p, problems := parseExternalProvider(v, api, path)
		return []ExternalProvider{p}, problems
	case []any:
		var providers []ExternalProvider
		var problems problem.List
		for i, item := range v {
			m, ok := item.(map[string]any)
			if !ok {
				problems = append(problems, wrongType(path.Index(i), "an external provider", example))
				continue
			}
			p, found := parseExternalProvider(m, api, path.Index(i))
			providers = append(providers, p)
			problems = append(problems, found...)
		}
		return providers, problems
	}
	return nil, problem.List{wrongType(path, "an external provider or a list of them", example)}
}

func parseExternalProvider(m map[string]any, api ProviderAPI, path *field.Path) (ExternalProvider, problem.List) {
	o := newObject(path, m)
	p := ExternalProvider{API: api}
	p.Path = path.String()
	p.ID = o.getRequiredString("providerId", "mine")
	p.Image = o.getRequiredString("image", "registry.example.com/provider:1")
	if len(p.Image) > limits.ImageBytes || strings.ContainsAny(p.Image, " \t\r\n") {
		o.report(invalid(path.Child("image"), "is not an image reference", "for example "+
			"registry.example.com/provider:1"))
	}
	if policy := o.getString("imagePullPolicy"); policy != "" {
		if !slices.Contains(pullPolicies, policy) {
			o.report(invalid(path.Child("imagePullPolicy"), "is not a pull policy",
				"use one of "+strings.Join(pullPolicies, ", ")))
		}
		p.ImagePullPolicy = corev1.PullPolicy(policy)
	}
	p.Endpoint = o.getString("endpoint")
	p.APIKey = o.getAPIKey()
	if inline, ok := o.take("package"); ok {
		p.Package = o.inlinePackage(inline, api)
	}
	p.Settings, p.SettingsField = o.getSettings()
	if _, written := m["settings"]; !written {
		p.SettingsField = "config"
	}
	p.SecretRefs = o.getSecretRefs(externalFields)
	for _, key := range o.remaining() {
		o.report(unknownField(path, key, externalFields, "; options of the provider go under config, values from "+
			"Secrets under secretRefs"))
	}
	o.report(checkExternalID(p.ID, path.Child("providerId"))...)
	return p, o.problems
}

func checkExternalID(id string, path *field.Path) problem.List {
	const fix = "choose another id"
	switch {
	case id == "":
		return nil // already reported
	case slices.Contains(reservedProviderIDs, id):
		return problem.List{newProblem(problem.Problem{
			Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeInvalid, Value: id, Detail: "has another " +
				"meaning for the server", Fix: fix,
		})}
	case len(id) > MaxExternalIDLength:
		return problem.List{invalid(path, fmt.Sprintf("the id of an external provider has at most %d characters",
			MaxExternalIDLength), fix)}
	case !externalIDPattern.MatchString(id):
		return problem.List{
			invalid(path, "the id of an external provider consists of lower-case letters, digits and '-', and begins and ends "+
				"with a letter or digit", fix),
		}
	}
	return nil
}

// sharedIDs reports ids that two external providers share, or an external provider and one of the spec in another API.
func sharedIDs(providers []ExternalProvider, inline []ProviderGroup) problem.List {
	var problems problem.List
	users := map[string]string{}
	other := func(p *ExternalProvider) string {
		for _, group := range inline {
			for i := range group.Providers {
				if q := &group.Providers[i]; group.API != p.API && q.Type != "" && q.EffectiveID() == p.ID {
					return q.Path
				}
			}
		}
		return users[p.ID]
	}
	for i := range providers {
		p := &providers[i]
		if p.ID == "" {
			continue
		}
		if at := other(p); at != "" {
			problems = append(problems, newProblem(problem.Problem{
				Reason: problem.DuplicateProviderID, Path: p.Path + ".providerId", Type: field.ErrorTypeDuplicate, Value: p.ID,
				Detail: "ids must be unique over all APIs, and this one is used by " + at + " and " + p.Path, Fix: "use unique ids",
			}))
			continue
		}
		users[p.ID] = p.Path
	}
	return problems
}

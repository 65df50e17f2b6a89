// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// openField is a field of the spec with an open schema.
type openField struct {
	path *field.Path
	raw  *apiextensionsv1.JSON
	// items is the maximum length of a list, or 0 for no such limit.
	items int
}

// CheckLimits reports lists and open fields of a spec that exceed a limit, before they are decoded. It stops at the
// first open field that is too large.
func CheckLimits(spec *v1alpha2.LlamaStackDistributionSpec) problem.List {
	var problems problem.List
	if n := len(spec.Disabled); n > limits.DisabledNames {
		problems = append(problems, tooMany(field.NewPath("spec", "disabled"), n, limits.DisabledNames))
	}
	if r := spec.Resources; r != nil {
		path := field.NewPath("spec", "resources")
		for _, list := range []struct {
			name      string
			have, may int
		}{
			{"models", len(r.Models), limits.Models},
			{"tools", len(r.Tools), limits.Tools},
			{"shields", len(r.Shields), limits.Shields},
			{"vectorStores", len(r.VectorStores), limits.VectorStores},
		} {
			if list.have > list.may {
				problems = append(problems, tooMany(path.Child(list.name), list.have, list.may))
			}
		}
	}
	if a := spec.Auth; a != nil {
		for _, policy := range []struct {
			name  string
			rules int
		}{{"accessPolicy", len(a.AccessPolicy)}, {"routePolicy", len(a.RoutePolicy)}} {
			if policy.rules > limits.PolicyRules {
				problems = append(problems, tooMany(field.NewPath("spec", "auth", policy.name), policy.rules, limits.PolicyRules))
			}
		}
	}
	if len(problems) > 0 {
		return problems
	}
	left := limits.OpenFieldNodes
	for _, f := range openFields(spec) {
		if f.raw == nil || len(f.raw.Raw) == 0 {
			continue
		}
		size, excess := limits.Scan(f.raw.Raw, limits.Limits{Bytes: len(f.raw.Raw), Levels: limits.OpenFieldLevels,
			Nodes: left})
		if excess != nil {
			return append(problems, tooLarge(f.path, excess))
		}
		if f.items > 0 && size.Items > f.items {
			problems = append(problems, tooMany(f.path, size.Items, f.items))
		}
		left -= size.Nodes
	}
	return problems
}

func openFields(spec *v1alpha2.LlamaStackDistributionSpec) []openField {
	var fields []openField
	root := field.NewPath("spec")
	if p := spec.Providers; p != nil {
		providers := root.Child("providers")
		for _, name := range fieldsInOrder(p) {
			fields = append(fields, openField{providers.Child(name), p.Field(name), limits.ProvidersPerAPI})
		}
	}
	list := func(path *field.Path, items []apiextensionsv1.JSON) {
		for i := range items {
			fields = append(fields, openField{path.Index(i), &items[i], 0})
		}
	}
	if a := spec.Auth; a != nil {
		auth := root.Child("auth")
		fields = append(fields,
			openField{auth.Child("settings"), a.Settings, 0}, openField{auth.Child("secretRefs"), a.SecretRefs, 0},
			openField{auth.Child("tenancy"), a.Tenancy, 0})
		list(auth.Child("accessPolicy"), a.AccessPolicy)
		list(auth.Child("routePolicy"), a.RoutePolicy)
	}
	if r := spec.Resources; r != nil {
		resources := root.Child("resources")
		list(resources.Child("models"), r.Models)
		list(resources.Child("tools"), r.Tools)
		list(resources.Child("shields"), r.Shields)
	}
	if n := spec.Networking; n != nil {
		fields = append(fields, openField{root.Child("networking", "expose"), n.Expose, 0})
	}
	return append(fields, openField{root.Child("externalProviders"), spec.ExternalProviders, 0})
}

func tooMany(path *field.Path, count, limit int) problem.Problem {
	return newProblem(problem.Problem{
		Reason: problem.TooLarge, Path: path.String(), Type: field.ErrorTypeTooMany, Value: count,
		Detail: fmt.Sprintf("must have at most %d items", limit),
		Fix:    "remove some, or use several LlamaStackDistributions",
	})
}

// tooLarge returns the problem of an open field that exceeds a limit.
func tooLarge(path *field.Path, excess *limits.ExcessError) problem.Problem {
	p := problem.Problem{
		Reason: problem.TooLarge, Path: path.String(), Type: field.ErrorTypeInvalid, Fix: "remove some",
		Detail: fmt.Sprintf("the open fields of a spec may have at most %d values in total",
			limits.OpenFieldNodes),
	}
	if excess.Unit == limits.Levels {
		p.Path += excess.Path
		p.Detail, p.Fix = fmt.Sprintf("must nest at most %d levels", excess.Limit), "reduce the nesting"
	}
	return newProblem(p)
}

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Spec is a spec with its open fields parsed. Parse makes it, once for each reconcile; it is not changed after that.
type Spec struct {
	// Source is the spec as the user wrote it.
	Source *v1alpha2.LlamaStackDistributionSpec
	// Providers are the entries of spec.providers: a group for each API that has any, in the order of ProvidersSpec.
	Providers []ProviderGroup
	// External are the entries of spec.externalProviders: by API in a fixed order, those of one API in the user's.
	External []ExternalProvider
	// Models, Tools, Shields and VectorStores are the items of spec.resources.
	Models       []Model
	Tools        []Tool
	Shields      []Shield
	VectorStores []VectorStore
	// Auth is spec.auth; nil where it is absent or empty.
	Auth *Auth
	// Expose is spec.networking.expose; the zero value where ExposeProblems has an item.
	Expose Expose

	// Problems are what is wrong with spec.providers, spec.externalProviders, spec.resources and spec.auth. Entries
	// without problems are in the lists all the same.
	Problems problem.List
	// ExposeProblems are what is wrong with spec.networking.expose.
	ExposeProblems problem.List
	// TooLarge reports that the spec is over its bounds: Problems name them, and nothing else was parsed.
	TooLarge bool
	// TooManyEndpoints reports that the spec takes endpoints from more objects than are read: Problems say so.
	TooManyEndpoints bool
}

// Parse reads the open fields of a spec. The work grows linearly with the spec, and the spec is not changed.
func Parse(spec *v1alpha2.LlamaStackDistributionSpec) *Spec {
	if problems := CheckBounds(spec); len(problems) > 0 {
		return &Spec{Source: spec, Problems: problems, TooLarge: true}
	}
	s := &Spec{Source: spec}
	add := func(problems problem.List) { s.Problems = append(s.Problems, problems...) }
	var problems problem.List
	s.Providers, problems = parseProviders(spec.Providers)
	add(problems)
	s.External, problems = parseExternal(spec.ExternalProviders, s.Providers)
	add(problems)
	if r := spec.Resources; r != nil {
		s.Models, problems = parseModels(r.Models)
		add(problems)
		s.Shields, problems = parseShields(r.Shields)
		add(problems)
		s.Tools, problems = parseTools(r.Tools)
		add(problems)
		s.VectorStores, problems = readVectorStores(r.VectorStores)
		add(problems)
	}
	problems = s.checkEndpointReferences()
	s.TooManyEndpoints = len(problems) > 0
	add(problems)
	s.Auth, problems = parseAuth(spec.Auth)
	add(problems)
	if n := spec.Networking; n != nil {
		s.Expose, s.ExposeProblems = ExposeField(n.Expose)
		if len(s.ExposeProblems) > 0 {
			s.Expose = Expose{}
		}
	}
	return s
}

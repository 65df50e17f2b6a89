// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Spec is a spec with its open fields parsed. Parse creates it once for each reconcile; it is immutable.
type Spec struct {
	// Source is the spec as written.
	Source *v1alpha2.LlamaStackDistributionSpec
	// Providers are the entries of spec.providers, in a group for each API and in the order of ProvidersSpec.
	Providers []ProviderGroup
	// External are the entries of spec.externalProviders by API in a fixed order, then in spec order.
	External     []ExternalProvider
	Models       []Model
	Tools        []Tool
	Shields      []Shield
	VectorStores []VectorStore
	Defaults     Defaults
	// Auth is spec.auth; nil if it is absent or empty.
	Auth *Auth
	// Expose is spec.networking.expose; zero if it has problems.
	Expose Expose

	// Problems are the problems of all fields except expose. Entries with problems may be in the lists.
	Problems       problem.List
	ExposeProblems problem.List
	// TooLarge means that the spec exceeds a limit and nothing else was parsed.
	TooLarge bool
	// TooManyEndpoints means that endpointFrom fields refer to more than limits.EndpointReferences objects.
	TooManyEndpoints bool
}

// Parse parses the open fields of a spec in linear time. It does not change the spec.
func Parse(spec *v1alpha2.LlamaStackDistributionSpec) *Spec {
	if problems := CheckLimits(spec); len(problems) > 0 {
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
		s.VectorStores, problems = parseVectorStores(r.VectorStores)
		add(problems)
		s.Defaults, problems = parseDefaults(r.Defaults)
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

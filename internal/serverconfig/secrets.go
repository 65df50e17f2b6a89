// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/auth"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/external"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// SecretUses returns the keys of Secrets that the spec refers to, sorted by environment variable, without disabled
// APIs. Two references with the same variable are an error.
func SecretUses(spec *parse.Spec) ([]SecretUse, problem.List) {
	problems := &problem.Collector{}
	problems.AddAll(spec.Problems)
	if spec.TooLarge {
		return nil, problems.List()
	}
	groups, externals := effectiveProviders(spec)
	uses := secretUses(spec, groups, externals, problems)
	return uses, problems.List()
}

// effectiveProviders returns the providers of the spec without disabled APIs and without those that external ones
// replace.
func effectiveProviders(spec *parse.Spec) ([]parse.ProviderGroup, []parse.ExternalProvider) {
	disabledAPIs := disabled.APIs(spec.Source.Disabled)
	groups := slices.DeleteFunc(slices.Clone(spec.Providers), func(group parse.ProviderGroup) bool {
		return slices.Contains(disabledAPIs, group.API.Name)
	})
	externals := slices.DeleteFunc(slices.Clone(spec.External), func(e parse.ExternalProvider) bool {
		return slices.Contains(disabledAPIs, e.API.Name)
	})
	return external.Replace(groups, externals, nil), externals
}

func secretUses(spec *parse.Spec, groups []parse.ProviderGroup, externals []parse.ExternalProvider,
	problems *problem.Collector) []SecretUse {
	var uses []SecretUse
	for _, group := range groups {
		for i := range group.Providers {
			uses = append(uses, provider.SecretUses(&group.Providers[i])...)
		}
	}
	for i := range externals {
		uses = append(uses, provider.SecretUses(&externals[i].Provider)...)
	}
	uses = append(uses, storage.SecretUses(spec.Source.Storage, problems)...)
	uses = append(uses, auth.SecretUses(spec.Auth)...)
	secrets := map[string]bool{}
	for _, use := range uses {
		secrets[use.Ref.Name] = true
	}
	if len(secrets) > limits.References {
		problems.Add(problem.Problem{
			Reason: problem.TooLarge, Path: "spec.providers", Type: field.ErrorTypeTooMany,
			Detail: fmt.Sprintf("refers to %d Secrets; the maximum is %d", len(secrets), limits.References),
			Fix:    "put several keys into one Secret",
		})
		return nil
	}
	first := map[string]string{}
	unique := uses[:0]
	for _, use := range uses {
		if at, clash := first[use.EnvName]; clash {
			problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: use.Path, Type: field.ErrorTypeInvalid,
				Detail: fmt.Sprintf("uses the environment variable %s, as does %s", use.EnvName, at),
				Fix:    "keep one of them, or choose provider ids that differ in more than case and punctuation",
			})
			continue
		}
		first[use.EnvName] = use.Path
		unique = append(unique, use)
	}
	slices.SortFunc(unique, func(a, b SecretUse) int { return strings.Compare(a.EnvName, b.EnvName) })
	return unique
}

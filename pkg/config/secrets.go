// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/storage"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// SecretUses reports which keys of Secrets the spec reads, sorted by environment variable and each variable once; those of disabled
// APIs are not read. It needs neither base nor release line, so that Secrets can be read before Generate. Two references that need
// the same variable are an error that names both.
func SecretUses(spec *v1alpha2.LlamaStackDistributionSpec) ([]SecretUse, problem.List) {
	problems := &problem.Collector{}
	parsed := parse.Parse(spec)
	problems.AddAll(parsed.Problems)
	if parsed.TooLarge {
		return nil, problems.List()
	}
	off := disabled.APIs(spec.Disabled)
	groups := slices.DeleteFunc(parsed.Providers, func(group parse.ProviderGroup) bool { return slices.Contains(off, group.API.Name) })
	uses := secretUses(spec, groups, problems)
	return uses, problems.List()
}

func secretUses(spec *v1alpha2.LlamaStackDistributionSpec, groups []parse.ProviderGroup, problems *problem.Collector) []SecretUse {
	var uses []SecretUse
	for _, group := range groups {
		for i := range group.Providers {
			uses = append(uses, secretUsesOf(&group.Providers[i])...)
		}
	}
	uses = append(uses, storage.SecretUses(spec.Storage, problems)...)
	secrets := map[string]bool{}
	for _, use := range uses {
		secrets[use.Ref.Name] = true
	}
	if len(secrets) > bounds.References {
		problems.Add(problem.Problem{
			Reason: problem.TooLarge, Path: "spec.providers", Type: field.ErrorTypeTooMany,
			Detail: fmt.Sprintf("refers to %d Secrets, and may refer to at most %d", len(secrets), bounds.References), Fix: "put several keys into one Secret",
		})
		return nil
	}
	first := map[string]string{}
	unique := uses[:0]
	for _, use := range uses {
		if at, clash := first[use.EnvName]; clash {
			problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: use.Path, Type: field.ErrorTypeInvalid,
				Detail: fmt.Sprintf("needs the environment variable %s, and so does %s", use.EnvName, at),
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

func secretUsesOf(p *parse.Provider) []SecretUse {
	var uses []SecretUse
	// An incomplete reference has been reported by the parser.
	if p.APIKey != nil && p.APIKey.Name != "" {
		uses = append(uses, apiKeyUse(p))
	}
	for _, s := range p.SecretRefs {
		uses = append(uses, secretFieldUse(p, s))
	}
	return uses
}

// apiKeyUse is the special case among the names: apiKey is API_KEY whatever the server calls the field.
func apiKeyUse(p *parse.Provider) SecretUse {
	return SecretUse{EnvName: environment.Name(p.EffectiveID(), "api_key"), Ref: *p.APIKey, Path: p.Path + ".apiKey"}
}

func secretFieldUse(p *parse.Provider, s parse.SecretField) SecretUse {
	return SecretUse{EnvName: environment.Name(p.EffectiveID(), snakeCase(s.Field)), Ref: s.Ref, Path: s.Path}
}

// snakeCase folds camelCase to the server's snake_case: clientKey and APIVersion become client_key and api_version.
func snakeCase(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && startsWord(runes, i) {
			b.WriteRune('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// startsWord reports whether the upper-case letter at i begins a word, rather than going on with an acronym.
func startsWord(runes []rune, i int) bool {
	if before := runes[i-1]; unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

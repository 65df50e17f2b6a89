// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"unicode"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// SecretUses returns the keys of Secrets that an entry refers to.
func SecretUses(p *parse.Provider) []environment.SecretUse {
	var uses []environment.SecretUse
	// The parser has reported an incomplete reference.
	if p.APIKey != nil && p.APIKey.Name != "" {
		uses = append(uses, APIKeyUse(p))
	}
	for _, s := range p.SecretRefs {
		uses = append(uses, secretFieldUse(p, s))
	}
	return uses
}

// APIKeyUse returns the use for apiKey. Its variable is always named API_KEY, independently of the config field.
func APIKeyUse(p *parse.Provider) environment.SecretUse {
	return environment.SecretUse{EnvName: environment.Name(p.EffectiveID(), "api_key"), Ref: *p.APIKey,
		Path: p.Path + ".apiKey"}
}

func secretFieldUse(p *parse.Provider, s parse.SecretField) environment.SecretUse {
	return environment.SecretUse{EnvName: environment.Name(p.EffectiveID(), SnakeCase(s.Field)), Ref: s.Ref, Path: s.Path}
}

// SnakeCase converts camelCase to snake_case: clientKey and APIVersion become client_key and api_version.
func SnakeCase(name string) string {
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

// startsWord reports whether the upper-case letter at i starts a word rather than continuing an acronym.
func startsWord(runes []rune, i int) bool {
	if before := runes[i-1]; unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

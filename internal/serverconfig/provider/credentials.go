// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// A name reveals a secret that the catalog does not know: a header, a URL parameter, or a field of the image.

// secretName matches the names of fields, headers and parameters that hold secrets.
var secretName = regexp.MustCompile(`(?i)(key|token|password|secret|credential|authorization|cookie)$`)

// headerName matches the value of a field that names a header instead of holding a credential.
var headerName = regexp.MustCompile(`(?i)^((proxy-)?authorization|cookie|x(-[a-z]+)+)$`)

// looksSecret reports whether the value of a field, header or parameter looks like a literal secret.
func looksSecret(name, value string) bool {
	return value != "" && secretName.MatchString(name) && !headerName.MatchString(value) && !document.HasReference(value)
}

const notConfidential = "anyone who can read the custom resource or its ConfigMap can read it"

// The fixes for a literal secret.
const (
	secretRefFix = "put it into a Secret, and refer to it with apiKey or secretRefs"
	variableFix  = "put it into a Secret, define a variable with it in spec.workload.overrides.env, and write " +
		"${env.<variable>} here"
)

// warnCredential warns about a probable secret without showing it.
func warnCredential(path, detail, fix string, problems *problem.Collector) {
	problems.Add(problem.Problem{
		Reason: problem.LiteralSecret, Severity: problem.Warning, Path: path, Detail: detail + ", and " + notConfidential,
		Fix: fix,
	})
}

// warnParameters warns about a URL parameter that looks like a secret, without its name, which may be the secret.
func warnParameters(endpoint, path string, problems *problem.Collector) {
	if hasCredential(endpoint) {
		warnCredential(path, "has a parameter that looks like a credential", "use apiKey if the provider supports that; "+
			"otherwise "+variableFix, problems)
	}
}

func hasCredential(endpoint string) bool {
	_, query, _ := strings.Cut(document.WithoutReferences(endpoint), "?")
	query, _, _ = strings.Cut(query, "#")
	return slices.ContainsFunc(strings.Split(query, "&"), func(parameter string) bool {
		name, value, _ := strings.Cut(parameter, "=")
		return looksSecret(name, value)
	})
}

// credentialCheck searches settings for secrets.
type credentialCheck struct {
	schema
	problems *problem.Collector
}

// checkCredentials warns about secrets in settings that the catalog does not mark; checkSettings reports the others.
func checkCredentials(s schema, spec *parse.Provider, problems *problem.Collector) {
	c := credentialCheck{schema: s, problems: problems}
	c.members(s.fields(), spec.Settings, spec.Path+"."+spec.SettingsField, secretRefFix)
}

// members checks a map of the settings against the fields in the catalog.
func (c credentialCheck) members(fields map[string]catalog.Field, values map[string]any, path, fix string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		def, known := fields[key]
		at := limits.Join(path, "."+key)
		if s, ok := values[key].(string); ok && !known && looksSecret(key, s) {
			warnCredential(at, "looks like a credential", fix, c.problems)
		} else if !def.Secret {
			c.member(def, values[key], at)
		}
	}
}

func (c credentialCheck) member(def catalog.Field, value any, path string) {
	switch value := value.(type) {
	case map[string]any:
		c.members(c.inner(def), value, path, variableFix)
	case []any:
		for i, item := range value {
			c.member(def, item, limits.Join(path, fmt.Sprintf("[%d]", i)))
		}
	case string:
		if !schemePattern.MatchString(value) {
			return
		}
		warnParameters(value, path, c.problems)
		// The settings check reports it for known types.
		if c.row == nil && address.HasUserInfo(value) {
			warnCredential(path, "has user information, which looks like a credential", variableFix, c.problems)
		}
	}
}

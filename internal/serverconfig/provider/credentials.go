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

// What the catalog does not know about a secret its name shows: a header, a parameter of a URL, a field that only the
// image knows.

// secretName is how fields, headers and parameters that hold secrets are called.
var secretName = regexp.MustCompile(`(?i)(key|token|password|secret|credential|authorization|cookie)$`)

// headerName is a value that names a header instead of filling it: which one a credential is passed on in.
var headerName = regexp.MustCompile(`(?i)^((proxy-)?authorization|cookie|x(-[a-z]+)+)$`)

// looksSecret reports whether the value of a field, header or parameter seems to be a secret that stands there as it
// is.
func looksSecret(name, value string) bool {
	return value != "" && secretName.MatchString(name) && !headerName.MatchString(value) && !document.HasReference(value)
}

const readByMany = "everybody who may read the custom resource or its ConfigMap can read it here"

// The ways in which a secret gets where it should be.
const (
	byReference = "put it into a Secret, and refer to it by apiKey or secretRefs"
	byVariable  = "put it into a Secret, let a variable of spec.workload.overrides.env take it from there, and write " +
		"${env.<variable>} here"
)

// warnCredential reports what seems to be a secret, without showing it.
func warnCredential(path, detail, fix string, problems *problem.Collector) {
	problems.Add(problem.Problem{
		Reason: problem.LiteralSecret, Severity: problem.Warning, Path: path, Detail: detail + ", and " + readByMany,
		Fix: fix,
	})
}

// warnParameters reports an address with a parameter that seems to hold a secret. The name of the parameter is not
// shown either: where the address is misspelled, it may be the secret.
func warnParameters(endpoint, path string, problems *problem.Collector) {
	if hasCredential(endpoint) {
		warnCredential(path, "has a parameter that looks like a credential", "use apiKey where the provider takes it so; "+
			"else "+byVariable, problems)
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

// credentialCheck looks for secrets in settings.
type credentialCheck struct {
	schema
	problems *problem.Collector
}

// checkCredentials warns about secrets in settings that the catalog does not know; the check of settings reports the
// others.
func checkCredentials(s schema, spec *parse.Provider, problems *problem.Collector) {
	c := credentialCheck{schema: s, problems: problems}
	c.members(s.fields(), spec.Settings, spec.Path+"."+spec.SettingsField, byReference)
}

// members looks at a map of the settings. fields are those that the catalog knows.
func (c credentialCheck) members(fields map[string]catalog.Field, values map[string]any, path, fix string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		of, known := fields[key]
		at := limits.Join(path, "."+key)
		if s, ok := values[key].(string); ok && !known && looksSecret(key, s) {
			warnCredential(at, "looks like a credential", fix, c.problems)
		} else if !of.Secret {
			c.member(of, values[key], at)
		}
	}
}

func (c credentialCheck) member(of catalog.Field, value any, path string) {
	switch value := value.(type) {
	case map[string]any:
		c.members(c.inner(of), value, path, byVariable)
	case []any:
		for i, item := range value {
			c.member(of, item, limits.Join(path, fmt.Sprintf("[%d]", i)))
		}
	case string:
		if !beginsWithScheme.MatchString(value) {
			return
		}
		warnParameters(value, path, c.problems)
		// For known types the check of settings reports it.
		if c.row == nil && address.HasUserInfo(value) {
			warnCredential(path, "has user information, which looks like a credential", byVariable, c.problems)
		}
	}
}

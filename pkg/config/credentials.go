// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// What the catalog does not say about a secret its name does: a header, a parameter of a URL, a field that only the image knows.

// secretName is how fields, headers and parameters that hold secrets are called.
var secretName = regexp.MustCompile(`(?i)(key|token|password|secret|credential|authorization|cookie)$`)

// headerName is a value that names a header instead of filling it: which one a credential is passed on in.
var headerName = regexp.MustCompile(`(?i)^((proxy-)?authorization|cookie|x(-[a-z]+)+)$`)

// looksSecret reports whether the value of a field, header or parameter seems to be a secret that stands there as it is.
func looksSecret(name, value string) bool {
	return value != "" && secretName.MatchString(name) && !headerName.MatchString(value) && !document.HasReference(value)
}

// The ways in which a secret gets where it should be.
const (
	byReference = "put it into a Secret, and refer to it by apiKey or secretRefs"
	byVariable  = "put it into a Secret, let a variable of spec.workload.overrides.env take it from there, and write ${env.<variable>} here"
)

// warnCredential reports what seems to be a secret, without showing it.
func warnCredential(path, message, mending string, findings *report) {
	findings.warn(LiteralSecret, path, message+", and everybody who may read the resource or its ConfigMap can read it here", mending)
}

// warnParameters reports an address with a parameter that seems to hold a secret. The name of the parameter is not shown either: where
// the address is written wrong, it may be the secret.
func warnParameters(address, path string, findings *report) {
	if hasCredential(address) {
		warnCredential(path, "has a parameter that looks like a credential", "use apiKey where the provider takes it so; else "+byVariable, findings)
	}
}

func hasCredential(address string) bool {
	_, query, _ := strings.Cut(document.WithoutReferences(address), "?")
	query, _, _ = strings.Cut(query, "#")
	return slices.ContainsFunc(strings.Split(query, "&"), func(parameter string) bool {
		name, value, _ := strings.Cut(parameter, "=")
		return looksSecret(name, value)
	})
}

// checkCredentials warns of secrets in settings of which the catalog does not know that they are; checkSettings has reported the others.
func (p *provider) checkCredentials(findings *report) {
	var fields map[string]catalog.Field
	if p.row != nil {
		fields = p.row.Fields
	}
	p.checkMembers(fields, p.Settings, p.Path+"."+p.SettingsField, byReference, findings)
}

// checkMembers looks at a map of the settings. fields are those that the catalog knows.
func (p *provider) checkMembers(fields map[string]catalog.Field, values map[string]any, path, mending string, findings *report) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		field, known := fields[key]
		at := bounds.Join(path, "."+key)
		if s, ok := values[key].(string); ok && !known && looksSecret(key, s) {
			warnCredential(at, "looks like a credential", mending, findings)
		} else if !field.Secret {
			p.checkMember(field, values[key], at, findings)
		}
	}
}

func (p *provider) checkMember(field catalog.Field, value any, path string, findings *report) {
	switch value := value.(type) {
	case map[string]any:
		p.checkMembers(p.innerFields(field), value, path, byVariable, findings)
	case []any:
		for i, item := range value {
			p.checkMember(field, item, bounds.Join(path, fmt.Sprintf("[%d]", i)), findings)
		}
	case string:
		if !beginsWithScheme.MatchString(value) {
			return
		}
		warnParameters(value, path, findings)
		// Of known types checkSettings has reported them.
		if p.row == nil && hasUserInfo(document.MaskReferences(value)) {
			warnCredential(path, "has user information, which looks like a credential", byVariable, findings)
		}
	}
}

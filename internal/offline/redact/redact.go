// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// Hidden replaces hidden values.
const Hidden = "<hidden>"

var (
	// secretName matches names of fields and variables that hold secrets; harmless matches exceptions, such as token
	// counts.
	secretName = regexp.MustCompile(`(?i)(passw(or)?d|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|credential|bearer|` +
		`authorization|client[-_]?cert|dsn|conn(ection)?[-_]?str)`)
	notSecret = regexp.MustCompile(`(?i)(max[-_]?tokens|tokenizer|token[-_]?(limit|count|budget|per)|secret(key)?refs?$|secret[-_]?name$|` +
		`secrets?-hash|creationtimestamp|_tokens$)`)

	userinfo   = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@:"']*(:[^\s/@"']*)?@`)
	assignment = regexp.MustCompile(`(?i)((?:passw(?:or)?d|secret|token|api[-_]?key|access[-_]?key|authorization)["']?\s*[:=]\s*["']?)` +
		`(?:bearer\s+|basic\s+)?[^\s"',;}]+`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
	keyLike    = regexp.MustCompile(`\b(sk|pk|rk|hf|gsk|ghp|gho|ghs|glpat|xox[abprs]|tvly|nvapi|AKIA|ASIA|AIza)[-_]?[A-Za-z0-9_-]{8,}`)
	jwt        = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
	// shownValue matches assigned values that are shown: references, empty values, and field error types of Kubernetes.
	shownValue = regexp.MustCompile(`^(\$\{env\.|\$\(|<hidden>|null$|(Not|Invalid|Required|Duplicate|Forbidden|Unsupported|Too)$)`)
	reference  = regexp.MustCompile(`^\$\{env\.[A-Za-z0-9_]+(:[=+]?\}|\})$|^\$\([A-Za-z0-9_]+\)$`)
)

// IsSecretName reports whether a field or variable of the name may hold a secret.
func IsSecretName(name string) bool {
	return secretName.MatchString(name) && !notSecret.MatchString(name)
}

// Text hides secrets in text.
func Text(text string) string {
	text = privateKey.ReplaceAllString(text, Hidden)
	text = userinfo.ReplaceAllString(text, "${1}"+Hidden+"@")
	text = bearer.ReplaceAllString(text, "${1} "+Hidden)
	text = replaceAssigned(text)
	text = keyLike.ReplaceAllString(text, Hidden)
	return jwt.ReplaceAllString(text, Hidden)
}

// replaceAssigned hides assigned values, except references to the environment.
func replaceAssigned(text string) string {
	return assignment.ReplaceAllStringFunc(text, func(match string) string {
		groups := assignment.FindStringSubmatch(match)
		if shownValue.MatchString(strings.TrimPrefix(match, groups[1])) {
			return match
		}
		return groups[1] + Hidden
	})
}

// Value returns a copy of a field's value without secrets.
func Value(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return object(v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = Value(name, item)
		}
		return list
	case string:
		switch {
		case reference.MatchString(v):
			return v
		case v != "" && IsSecretName(name):
			return Hidden
		}
		return Text(v)
	}
	return value
}

// object hides the data of a Secret, and the values of variables with secret-like names.
func object(v map[string]any) map[string]any {
	hidden := make(map[string]any, len(v))
	isSecret := v["kind"] == "Secret"
	for key, value := range v {
		switch {
		case isSecret && (key == "data" || key == "stringData"):
			hidden[key] = keysOnly(value)
		case key == "managedFields", key == "kubectl.kubernetes.io/last-applied-configuration":
			// They repeat the object.
		case key == "value" && isNamedSecret(v):
			hidden[key] = Value("secret", value)
		default:
			hidden[key] = Value(key, value)
		}
	}
	return hidden
}

func isNamedSecret(v map[string]any) bool {
	name, _ := v["name"].(string)
	return IsSecretName(name)
}

func keysOnly(data any) any {
	keys, ok := data.(map[string]any)
	if !ok {
		return Hidden
	}
	hidden := make(map[string]any, len(keys))
	for key := range keys {
		hidden[key] = Hidden
	}
	return hidden
}

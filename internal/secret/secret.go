// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Redacted replaces a hidden value.
const Redacted = "[redacted]"

// Value is a secret value. The zero Value is empty.
type Value struct{ bytes []byte }

// New wraps a secret value. The bytes are copied.
func New(b []byte) Value { return Value{bytes: bytes.Clone(b)} }

// Wrap wraps a secret value without a copy. The bytes must not change.
func Wrap(b []byte) Value { return Value{bytes: b} }

// Reveal returns the bytes. They must only be written to Secrets, or sent to the server that the user names.
func (v Value) Reveal() []byte { return v.bytes }

// Len returns the length of the value in bytes.
func (v Value) Len() int { return len(v.bytes) }

// Empty reports whether the value is empty, which the server treats as unset.
func (v Value) Empty() bool { return len(v.bytes) == 0 }

// String returns Redacted.
func (v Value) String() string { return Redacted }

// Format writes Redacted for every verb, also for %x and %#v.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// MarshalText returns Redacted, for JSON, YAML and other encoders that use encoding.TextMarshaler.
func (v Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue returns Redacted.
func (v Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

// pythonNumber matches the numbers of Python's int() and float(), with which the server converts substituted values:
// underscores between digits, surrounding space and any Unicode digit are valid.
var pythonNumber = regexp.MustCompile(`^\s*[+-]?(\p{Nd}+(_\p{Nd}+)*\.?(\p{Nd}+(_\p{Nd}+)*)?|\.\p{Nd}+(_\p{Nd}+)*)([eE][+-]?\p{Nd}+(_\p{Nd}+)*)?\s*$`)

// These methods validate a value without quoting it, by the server's rules for ${env.X} in all release lines.

// TextProblems returns the problems of a value that is not text or ends with a line break.
func (v Value) TextProblems() []string {
	s := string(v.bytes)
	var problems []string
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		problems = append(problems, "is not text (it has zero bytes, or is not UTF-8), which an environment variable "+
			"cannot hold: encode it, or correct it")
	}
	if strings.HasSuffix(s, "\n") {
		problems = append(problems, "ends with a line break: remove it (for example with printf or echo -n)")
	}
	return problems
}

// SubstitutionProblems returns the problems of a value that the server changes or cannot resolve as ${env.X}.
func (v Value) SubstitutionProblems() []string {
	s := string(v.bytes)
	var problems []string
	if strings.HasPrefix(s, "~") {
		problems = append(problems, "begins with '~', which the server expands to a home directory: use another value")
	}
	if strings.Contains(s, "${env.") {
		problems = append(problems, "contains '${env.', which looks like an unresolved placeholder: use another "+
			"value")
	}
	return problems
}

// ConversionProblem returns the problem of a value that the server converts to another type and then refuses as text,
// or "".
func (v Value) ConversionProblem() string {
	if kind := ConvertedTo(string(v.bytes)); kind != "" {
		return "looks like " + kind + ", which the server converts to one and then rejects as text: use another value"
	}
	return ""
}

// bearerToken is the form of a bearer token (RFC 6750, section 2.1).
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// BearerProblem returns why the value is not a bearer token, or "". Other characters would break the header.
func (v Value) BearerProblem() string {
	if bearerToken.Match(v.bytes) {
		return ""
	}
	return "is not a bearer token, which has only letters, digits and . _ ~ + / - and may end with '=': use another value"
}

// ConvertedTo returns the type that the server converts a text from the environment to: "a boolean", "a number", or ""
// if it stays text.
func ConvertedTo(s string) string {
	trimmed := strings.ToLower(strings.TrimSpace(s))
	switch trimmed {
	case "":
		return ""
	case "true", "false":
		if s == strings.TrimSpace(s) {
			return "a boolean"
		}
		return ""
	}
	if pythonNumber.MatchString(s) {
		return "a number"
	}
	unsigned := strings.TrimLeft(trimmed, "+-")
	if f, err := strconv.ParseFloat(unsigned, 64); err == nil && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return "a number" // inf, infinity, nan
	}
	return ""
}

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

// Redacted stands where a value is hidden.
const Redacted = "[redacted]"

// Value is a secret value. The zero Value is empty.
type Value struct{ bytes []byte }

// New wraps a secret value. The bytes are copied.
func New(b []byte) Value { return Value{bytes: bytes.Clone(b)} }

// Wrap wraps a secret value that nobody changes. The bytes are shared.
func Wrap(b []byte) Value { return Value{bytes: b} }

// Reveal returns the bytes. They must not reach anything that is written outside of Secrets.
func (v Value) Reveal() []byte { return v.bytes }

// Len is the length of the value in bytes.
func (v Value) Len() int { return len(v.bytes) }

// Empty reports whether there is no value: to the server an empty variable is an unset one.
func (v Value) Empty() bool { return len(v.bytes) == 0 }

// String returns a fixed word.
func (v Value) String() string { return Redacted }

// Format writes a fixed word for every verb, %x and %#v included.
func (v Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Redacted) }

// MarshalText returns a fixed word, for JSON, YAML and every encoder that respects encoding.TextMarshaler.
func (v Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue returns a fixed word.
func (v Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

// The server converts what it has substituted with Python's int() and float(), which take underscores between
// digits, surrounding space and any Unicode digit.
var pythonNumber = regexp.MustCompile(`^\s*[+-]?(\p{Nd}+(_\p{Nd}+)*\.?(\p{Nd}+(_\p{Nd}+)*)?|\.\p{Nd}+(_\p{Nd}+)*)([eE][+-]?\p{Nd}+(_\p{Nd}+)*)?\s*$`)

// What follows validates a value without quoting it. The rules are those of the server's substitution of ${env.X}, the
// same in every release line.

// Unfit reports why the value is nothing that anyone means to give to a server; nil where all is well.
func (v Value) Unfit() []string {
	s := string(v.bytes)
	var problems []string
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		problems = append(problems, "is not text (it has zero bytes, or is not UTF-8), which an environment variable "+
			"cannot hold: encode it, or correct it")
	}
	if strings.HasSuffix(s, "\n") {
		problems = append(problems, "ends with a line break: write it without one (for example with printf or echo -n)")
	}
	return problems
}

// Substituted reports what the server would make of the value when it stands for ${env.X}; nil where it stays as it is.
func (v Value) Substituted() []string {
	s := string(v.bytes)
	var problems []string
	if strings.HasPrefix(s, "~") {
		problems = append(problems, "begins with '~', which the server replaces by a home directory: use another value")
	}
	if strings.Contains(s, "${env.") {
		problems = append(problems, "contains '${env.', which looks like a placeholder that nothing resolves: use another "+
			"value")
	}
	return problems
}

// Converted reports that the server would turn the value into another type, a field of type text would then refuse it;
// empty where it stays text.
func (v Value) Converted() string {
	if kind := convertedTo(string(v.bytes)); kind != "" {
		return "looks like " + kind + ", which the server turns into one and then refuses as text: use another value"
	}
	return ""
}

// bearerToken is the form of a bearer token (RFC 6750, section 2.1).
var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// BearerProblem reports why the value cannot be sent as a bearer token; empty where it can. Other characters would be
// decoded, or end the header, where headers come from an environment variable.
func (v Value) BearerProblem() string {
	if bearerToken.Match(v.bytes) {
		return ""
	}
	return "is not a bearer token, which has only letters, digits and . _ ~ + / - and may end with '=': use another value"
}

// convertedTo names the type that the server would turn the text into; empty where it stays text.
func convertedTo(s string) string {
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

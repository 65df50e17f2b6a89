// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "canary-7f3a"

// Proves: R7, NFR-003.
func TestValueNeverPrints(t *testing.T) {
	v := New([]byte(canary))
	type holder struct {
		Inner  Value
		Ptr    *Value
		Values []Value
	}
	h := holder{Inner: v, Ptr: &v, Values: []Value{v}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", v, "holder", h)
	inJSON, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"%v": fmt.Sprintf("%v %v", v, h), "%+v": fmt.Sprintf("%+v", h), "%#v": fmt.Sprintf("%#v", v),
		"%s": fmt.Sprintf("%s", v), "%x": fmt.Sprintf("%x", v), "%q": fmt.Sprintf("%q", v), "%d": fmt.Sprintf("%d", v),
		"error": fmt.Errorf("failed with %v", v).Error(), "json": string(inJSON), "log": log.String(),
	} {
		if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
			t.Errorf("%s shows the value: %s", name, text)
		}
		if !strings.Contains(text, "[redacted]") {
			t.Errorf("%s does not say that a value was left out: %s", name, text)
		}
	}
	if got := string(v.Reveal()); got != canary {
		t.Errorf("Reveal = %q", got)
	}
}

func problems(text string) []string {
	v := New([]byte(text))
	return append(v.TextProblems(), v.SubstitutionProblems()...)
}

// Proves: R8, R33. The values were tested with the server's own substitution.
func TestProblems(t *testing.T) {
	for _, fine := range []string{
		"sk-123", "a-123", "yes", "null", "None", "[1]", `{"a":1}`, "0x10", " ", "p@:/#%41?&\"' 1", "1e", "e5", "1__0",
		"infinite", "nano", "x~y", "$(Y)", "12a", "trueish", "",
	} {
		if got, converted := problems(fine), New([]byte(fine)).ConversionProblem(); len(got) > 0 || converted != "" {
			t.Errorf("%q: %v %q, want none", fine, got, converted)
		}
	}
	for bad, want := range map[string]string{
		"123456": "a number", "0123": "a number", " 12 ": "a number", "١٢": "a number", "1_000": "a number",
		"1e5": "a number", "12.50": "a number", "inf": "a number", "-Infinity": "a number", "nan": "a number",
		"1E400": "a number", "+5": "a number", ".5": "a number", "5.": "a number", "TRUE": "a boolean",
		"false": "a boolean", "~abc": "home directory", "a\n": "line break", "x${env.Y}": "placeholder",
		"a\x00b": "not text", "\xff": "not text",
	} {
		got := strings.Join(append(problems(bad), New([]byte(bad)).ConversionProblem()), "; ")
		if !strings.Contains(got, want) {
			t.Errorf("%q: %q, want it to mention %q", bad, got, want)
		}
		if strings.Contains(got, strings.TrimSpace(bad)) && len(bad) > 3 && bad != "false" {
			t.Errorf("%q: the message quotes the value: %q", bad, got)
		}
	}
}

// Proves: R25, R7. The OpenTelemetry SDK reads the valid values unchanged from its variable for headers.
func TestBearerProblem(t *testing.T) {
	for _, fine := range []string{"abc", "123456", "a+b/c~d._-", "abc==", "eyJhbGciOi.eyJzdWIi.sig-na_ture"} {
		if got := New([]byte(fine)).BearerProblem(); got != "" {
			t.Errorf("%q: %s", fine, got)
		}
	}
	for _, bad := range []string{"", "a b", "a,b=c", "a;b", "p%41", "a\"b", "a=b", "ä", "a\n", "Bearer abc", "$(X)"} {
		got := New([]byte(bad)).BearerProblem()
		if got == "" || (len(bad) > 3 && strings.Contains(got, bad)) {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

// Proves: R54 (without the operator's key, the hash is a placeholder that says where it is known).
func TestHashWithoutKey(t *testing.T) {
	h := NewHash(Value{})
	h.Text("name")
	h.Value(New([]byte(canary)))
	if got := h.Sum(); got != "<on-cluster>" {
		t.Errorf("Sum without a key = %q", got)
	}
	keyed := NewHash(New([]byte("0123456789abcdef0123456789abcdef")))
	if got := keyed.Sum(); len(got) != 32 {
		t.Errorf("Sum with a key = %q, want 32 digits", got)
	}
}

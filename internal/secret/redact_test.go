// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R7, NFR-003 (all encodings of a value are redacted, and parts of it).
func TestRedactHidesKnownValuesInEveryForm(t *testing.T) {
	var canaries framework.Canaries
	value := canaries.New()
	values := []secret.Value{secret.New([]byte("x")), secret.New([]byte(value))}
	for form, text := range framework.Encodings(value) {
		if form == "hashed" {
			continue // servers do not print hashes
		}
		line := secret.Redact("ValueError: "+text+" cannot be used", values[1:])
		if found := canaries.Find(line); len(found) > 0 || !strings.HasPrefix(line, "ValueError: ") || !strings.HasSuffix(line, " cannot be used") {
			t.Errorf("%s: %s", form, line)
		}
	}
	for _, part := range []string{value[4:], value[:20], value[:6], url.QueryEscape(value)[8:], base64.StdEncoding.EncodeToString([]byte(value))[8:]} {
		if line := secret.Redact("ValueError: "+part, values[1:]); line != "ValueError: [redacted]" {
			t.Errorf("a part of a value: %s", line)
		}
	}
	if line := secret.Redact("ValueError:\u00a0"+value+"\u2003in front", values[1:]); line != "ValueError:\u00a0[redacted]\u2003in front" {
		t.Errorf("between spaces of several bytes: %q", line)
	}
	if line := secret.Redact("pin x of 7", values); line != "pin [redacted] of 7" {
		t.Errorf("a value of one letter: %s", line)
	}
}

// Proves: R7 (texts that look like a secret are redacted even if they are in no Secret, and the cause stays readable).
func TestRedactHidesSecretLikeValues(t *testing.T) {
	for line, want := range map[string]string{
		"ModuleNotFoundError: No module named 'redis'":                         "ModuleNotFoundError: No module named 'redis'",
		"ValueError: Provider `gone` not found":                                "ValueError: Provider `gone` not found",
		"ValueError: Model meta-llama/Llama-3.2-3B-Instruct is not available":  "ValueError: Model meta-llama/Llama-3.2-3B-Instruct is not available",
		"cannot connect to redis://default:p@ss@redis:6379":                    "cannot connect to redis://[redacted]redis:6379",
		"sent Authorization: Bearer abc.def":                                   "sent Authorization: [redacted] [redacted]",
		"password=hunter2, host=db":                                            "password=[redacted], host=db",
		`{"api_key": "hunter2", "x": 1}`:                                       `{"api_key": [redacted]", "x": 1}`,
		"Input should be a string [type=x, input_value='hunter2', input_type]": "Input should be a string [type=x, input_value=[redacted]",
		"key sk-proj-abcdef was refused":                                       "key [redacted] was refused",
		"eyJhbGciOiJIUzI1NiJ9abc is expired":                                   "[redacted] is expired",
	} {
		if got := secret.Redact(line, nil); got != want {
			t.Errorf("%s\n got %s\nwant %s", line, got, want)
		}
	}
}

// Proves: R7 (the plugin hides all forms of a value and keeps other text).
func TestHideInHidesTheFormsOfAValue(t *testing.T) {
	const hidden = "***"
	large := strings.Repeat("p\"", 1<<15) // in bytes, the largest value with several forms
	for name, c := range map[string]struct{ value, text, want string }{
		"in plain":                     {"hunter2", "password hunter2, hunter", "password ***, hunter"},
		"in base64":                    {"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2")), hidden},
		"the shortest":                 {"1234", "pin 1234", "pin ***"},
		"too short, only in its forms": {"123", "pin 123, 313233", "pin 123, ***"},
		"the largest, quoted":          {large, strings.ReplaceAll(large, `"`, `\"`), hidden},
		"larger, in plain":             {large + "x", large + "x", hidden},
		"larger, quoted":               {large + "x", `p\"p\"`, `p\"p\"`},
		"no value":                     {"", "text", "text"},
		"without a cluster":            {secret.OnCluster, secret.OnCluster, secret.OnCluster},
	} {
		if got := secret.New([]byte(c.value)).HideIn(c.text, hidden); got != c.want {
			t.Errorf("%s: %.80q, want %q", name, got, c.want)
		}
	}
}

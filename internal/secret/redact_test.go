// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// Proves: R7, NFR-003 (in whatever form a program prints a value, and where a text has only a part of it).
func TestRedactHidesKnownValuesInEveryForm(t *testing.T) {
	var canaries fixture.Canaries
	value := canaries.New()
	values := []secret.Value{secret.New([]byte("x")), secret.New([]byte(value))}
	for form, text := range fixture.Forms(value) {
		if form == "hashed" {
			continue // a server prints no such thing
		}
		line := secret.Redact("ValueError: "+text+" cannot be used", values[1:])
		if found := canaries.In(line); len(found) > 0 || !strings.HasPrefix(line, "ValueError: ") || !strings.HasSuffix(line, " cannot be used") {
			t.Errorf("%s: %s", form, line)
		}
	}
	for _, part := range []string{value[4:], value[:20], url.QueryEscape(value)[8:], base64.StdEncoding.EncodeToString([]byte(value))[8:]} {
		if line := secret.Redact("ValueError: "+part, values[1:]); line != "ValueError: [redacted]" {
			t.Errorf("a part of a value: %s", line)
		}
	}
	if line := secret.Redact("pin x of 7", values); line != "pin [redacted] of 7" {
		t.Errorf("a value of one letter: %s", line)
	}
}

// Proves: R7 (what looks like a secret is hidden even where no Secret has it, and the cause stays readable).
func TestRedactHidesWhatLooksLikeASecret(t *testing.T) {
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

// SPDX-License-Identifier: Apache-2.0

package panics_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
)

// Proves: R63, L-28 (what a panic says is reported only where it is one of Go's own errors).
func TestRecordShowsNoValue(t *testing.T) {
	const canary = "sk-canary"
	for want, value := range map[string]any{"string": canary, "[]string": []string{canary}, "index out of range": index(canary)} {
		what, wrong := panics.Record(value)
		if !strings.Contains(what, want) || strings.Contains(what+wrong.String(), canary) {
			t.Errorf("%s: %s", what, wrong)
		}
	}
}

// index is the error of an index out of range.
func index(s string) (value any) {
	defer func() { value = recover() }()
	return s[len(s)]
}

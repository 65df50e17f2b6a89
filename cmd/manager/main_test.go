// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

// Proves: L-34 (the namespaces of the flag; no name means all).
func TestNamespaces(t *testing.T) {
	for list, want := range map[string][]string{
		"":             nil,
		" , ,":         nil,
		"a":            {"a"},
		"b,a":          {"a", "b"},
		" b , a ,, b ": {"a", "b"},
	} {
		if got := namespaces(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
}

// The lease and the settings would be looked for nowhere.
func TestRunNeedsTheOperatorNamespace(t *testing.T) {
	err := run(t.Context(), &flags{})
	if err == nil || !strings.Contains(err.Error(), "--operator-namespace") || !strings.Contains(err.Error(), "POD_NAMESPACE") {
		t.Errorf("error %v, want it to name the flag and the variable", err)
	}
}

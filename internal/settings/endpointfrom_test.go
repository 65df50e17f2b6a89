// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R48, R74 (the default is the own namespace, and an invalid setting is named with its key and item).
func TestEndpointFromAllowsNamespaces(t *testing.T) {
	for text, want := range map[string][3]bool{ // own, models, other
		"":                              {true, false, false},
		"namespaces: [models]":          {true, true, false},
		`namespaces: ["*"]`:             {true, true, true},
		"namespaces: [models, serving]": {true, true, false},
	} {
		s := parse(t, map[string]string{"endpointFrom": text})
		got := [3]bool{s.EndpointFrom.Allows("ai", "ai"), s.EndpointFrom.Allows("ai", "models"), s.EndpointFrom.Allows("ai", "other")}
		if got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"namespaces: [models, A/B]": `ConfigMap llama-stack-operator-config, key endpointFrom: namespaces[1]: Invalid value: "A/B": must be a namespace, or *`,
		"namespace: models":         `ConfigMap llama-stack-operator-config, key endpointFrom: namespace: unknown field: did you mean "namespaces"? known fields: namespaces`,
	} {
		if _, err := settings.Parse(map[string]string{"endpointFrom": text}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

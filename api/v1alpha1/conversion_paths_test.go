// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"testing"
)

// Proves: MIG-MAP, API-VAL (messages about a converted object use the paths of its original version).
func TestPathsOfMessages(t *testing.T) {
	t.Parallel()

	for hub, want := range map[string]string{
		"spec.workload.overrides.env[0].name":        "spec.server.containerSpec.env[0].name",
		"spec.networking.port":                       "spec.server.containerSpec.port",
		"spec.networking.portable":                   "",
		"spec.networking.tls.caBundle":               "spec.server.tlsConfig.caBundle",
		"spec.networking.tls.caBundle.configMapName": "spec.server.tlsConfig.caBundle.configMapName",
		"spec.overrideConfig":                        "spec.server.userConfig",
		"spec.distribution":                          "spec.server.distribution",
		"spec.workload.podDisruptionBudget":          "spec.server.podDisruptionBudget",
		"spec.workload.autoscaling.maxReplicas":      "spec.server.autoscaling.maxReplicas",
		"spec.providers.inference":                   "",
		"spec":                                       "",
		"":                                           "",
	} {
		if got := PathOf(hub); got != want {
			t.Errorf("%q is %q in v1alpha1, want %q", hub, got, want)
		}
	}
	for i := range fieldMappings {
		if m := &fieldMappings[i]; m.spoke != "" && m.hub != "" && PathOf(m.hub) != m.spoke {
			t.Errorf("%s is %s in v1alpha1, want %s", m.hub, PathOf(m.hub), m.spoke)
		}
	}
	for spoke, want := range map[string]string{
		"spec.replicas":                         "spec.workload.replicas",
		"spec.server.containerSpec.env[0].name": "spec.workload.overrides.env[0].name",
		"spec.server.containerSpec.name":        "",
		"spec.server":                           "",
		"spec.server.storages":                  "",
	} {
		if got := HubPathOf(spoke); got != want {
			t.Errorf("%q is %q in v1alpha2, want %q", spoke, got, want)
		}
	}
}

// Proves: MIG-ANN (a carried path has a value that the other version cannot express).
func TestCarriedPaths(t *testing.T) {
	t.Parallel()

	for text, want := range map[string][]string{
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {distribution: {name: starter}, containerSpec: {name: main, port: 8321}}}}": {"spec.server.containerSpec.name"},
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {userConfig: {configMapName: a, configMapNamespace: b}}}}":                  {"spec.server.userConfig"},
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {userConfig: {configMapName: a}}}}":                                         nil,
		// These values have no effect in v1alpha1 either.
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {userConfig: {configMapName: '', configMapNamespace: b}}}}":                     nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {userConfig: {configMapName: a, configMapNamespace: ''}}}}":                     nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {tlsConfig: {caBundle: {configMapName: '', configMapKeys: [a]}}}}}":             nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {tlsConfig: {caBundle: {configMapName: a, configMapKeys: []}}}}}":               nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {tlsConfig: {caBundle: {configMapName: a, configMapKeys: [b]}}}}}":              {"spec.server.tlsConfig.caBundle"},
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {containerSpec: {name: ''}, podOverrides: {}, autoscaling: {maxReplicas: 0}}}}": nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {podOverrides: {terminationGracePeriodSeconds: -1}}, network: {}}}":             nil,
		"{apiVersion: llamastack.io/v1alpha1, spec: {server: {podOverrides: {terminationGracePeriodSeconds: 0}}, network: {}}}":              nil,
	} {
		if got := CarriedPaths(ToV1alpha2(object(t, text))); !slices.Equal(got, want) {
			t.Errorf("%s: carried are %q, want %q", text, got, want)
		}
	}
	for expose, want := range map[string][]string{
		"true": nil, "{}": nil, "{enabled: true}": nil, "{hostname: ''}": nil, "{enabled: false, hostname: a.example}": nil, "{hostname: a.example}": {"spec.networking.expose"},
	} {
		object := object(t, "{apiVersion: llamastack.io/v1alpha2, spec: {disabled: [], networking: {expose: "+expose+", tls: {enabled: false, secretName: ''}}, storage: {}}}")
		if got := CarriedPaths(FromV1alpha2(object)); !slices.Equal(got, want) {
			t.Errorf("expose: %s: carried are %q, want %q", expose, got, want)
		}
	}
	hub := object(t, "{apiVersion: llamastack.io/v1alpha2, spec: {disabled: [eval], networking: {expose: {hostname: a.example}}}}")
	if got := CarriedPaths(FromV1alpha2(hub)); !slices.Equal(got, []string{"spec.disabled", "spec.networking.expose"}) {
		t.Errorf("carried are %q", got)
	}
	if got := CarriedPaths(map[string]any{}); got != nil {
		t.Errorf("of nothing %q is carried", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R108, FR-075.
func TestTelemetryNamesTheCluster(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"clusterName: production":          "production",
		"clusterName: 'arn:aws:eks:eu/c1'": "arn:aws:eks:eu/c1",
	} {
		s, err := settings.Parse(map[string]string{settings.KeyTelemetry: text})
		if err != nil || s.Telemetry.ClusterName != want {
			t.Errorf("%q: %+v, %v", text, s, err)
		}
	}
	for text, want := range map[string]string{
		"clusterName: 'a,b=c'": "ConfigMap llama-stack-operator-config, key telemetry: clusterName: Invalid value",
		"cluster: a":           `cluster: unknown field: did you mean "clusterName"?`,
	} {
		if _, err := settings.Parse(map[string]string{settings.KeyTelemetry: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

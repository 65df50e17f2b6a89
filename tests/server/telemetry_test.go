// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// What the engine makes of telemetry, with the key put in as Kubernetes does, is what the exporter in the server's own environment
// sends, to a collector with a certificate that the file of authorities vouches for.
//
// Proves: FR-003, R25, FR-074.
func TestTelemetryReachesTheExporter(t *testing.T) {
	t.Parallel()
	certificates := t.TempDir()
	makeCertificates(t, certificates)
	withTLS := []string{"--certificate", filepath.Join(certificates, "server.crt"), "--key", filepath.Join(certificates, "server.key")}
	authorities := "REQUESTS_CA_BUNDLE=" + filepath.Join(certificates, "ca.crt")
	if sent, _ := runScript(t, imageRelease(t), "headers.py", withTLS...); strings.TrimSpace(string(sent)) != "null" {
		t.Errorf("without the authority the exporter sends %s", sent)
	}
	forEachRelease(t, func(t *testing.T, r release) {
		line := lineOf(t, r)
		result, findings := config.Generate(config.Input{
			Name: "mine", Namespace: "mine", Line: line, Base: matrixBase(t, line, "", "", "starter"),
			Spec: specWith(t, v1alpha2.APITelemetry, map[string]any{
				"provider": "otel", "endpoint": "http://collector.example:4318/", "apiKey": map[string]any{"name": "otlp", "key": "token"},
			}),
		})
		if result == nil || len(findings) > 0 {
			t.Fatal(findings)
		}
		const key = "a+b/c~d._-0=="
		args := append(slices.Clone(withTLS), authorities)
		for _, v := range result.Env {
			if v.Ref.Name == "" {
				args = append(args, v.Name+"="+strings.ReplaceAll(v.Value, "$(LLSD_OTEL_API_KEY)", key))
			}
		}
		out, _ := runScript(t, r, "headers.py", args...)
		var headers map[string]string
		if err := json.Unmarshal(out, &headers); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got := headers["authorization"]; got != "Bearer "+key {
			t.Errorf("the exporter sends %q", got)
		}
	})
}

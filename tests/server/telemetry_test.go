// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

type exported struct {
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
}

// The exporters in the server's environment send the key to the paths of a collector. A CA of the bundle signs the
// collector's certificate.
//
// Proves: FR-003, R25, FR-074.
func TestTelemetryReachesTheExporter(t *testing.T) {
	t.Parallel()
	certificates := t.TempDir()
	for name, content := range framework.NewCA(t).ServerSecret([]string{"localhost"}) {
		framework.WriteFile(t, filepath.Join(certificates, name), string(content))
	}
	withTLS := []string{"--certificate", filepath.Join(certificates, "tls.crt"), "--key", filepath.Join(certificates, "tls.key")}
	caBundle := "REQUESTS_CA_BUNDLE=" + filepath.Join(certificates, "ca.crt")
	for signal, request := range exports(t, imageRelease(t), withTLS...) {
		if request != nil {
			t.Errorf("without the CA certificate the exporter of %s sends %+v", signal, request)
		}
	}
	forEachRelease(t, func(t *testing.T, r release) {
		line := lineOf(t, r)
		result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
			Name: "mine", Namespace: "mine", Line: line, Base: matrixBase(t, line, "", "", "starter"),
			Spec: specWith(t, parse.APITelemetry, map[string]any{
				"provider": "otel", "endpoint": "http://collector.example:4318/tenant/", "apiKey": map[string]any{"name": "otlp", "key": "token"},
			}),
		})
		if result == nil || len(findings) > 0 {
			t.Fatal(findings)
		}
		const key = "a+b/c~d._-0=="
		args := append(slices.Clone(withTLS), caBundle)
		for _, v := range result.Env {
			if v.Ref.Name == "" {
				args = append(args, v.Name+"="+strings.ReplaceAll(v.Value, "$(LLSD_OTEL_API_KEY)", key))
			}
		}
		requests := exports(t, r, args...)
		for _, signal := range []string{"metrics", "traces"} {
			request := requests[signal]
			if request == nil {
				t.Errorf("no %s are sent", signal)
				continue
			}
			if got := request.Headers["authorization"]; got != "Bearer "+key {
				t.Errorf("the exporter of %s sends %q", signal, got)
			}
			if want := "/tenant/v1/" + signal; request.Path != want {
				t.Errorf("%s go to %s, not to %s", signal, request.Path, want)
			}
		}
	})
}

// exports runs the exporters in the server's environment and returns their requests by signal, nil for a signal that is
// not sent.
func exports(t *testing.T, r release, args ...string) map[string]*exported {
	t.Helper()
	python := serverPython(t, r)
	// A separate process, because the modules read the environment on import.
	out := framework.Output(t, scriptTimeout, pythonEnv(python), python, append([]string{"exports.py"}, args...)...)
	var requests map[string]*exported
	if err := json.Unmarshal([]byte(out), &requests); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return requests
}

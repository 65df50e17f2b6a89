// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const monitored = `apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: monitored, namespace: ai}
spec:
  distribution: {image: "docker.io/llamastack/distribution-starter:%s"}
  monitoring: {enabled: true}
`

// The server has the pod's environment, on the oldest and the newest release line with metrics. Only the address and
// the port differ from a pod.
//
// Proves: L-33, L-10.
func TestServersServeMetrics(t *testing.T) {
	t.Parallel()
	lines := []string{catalog.FirstLine(func(l *catalog.Line) bool { return l.MetricsEnv != "" }), catalog.Newest()}
	forEachRelease(t, func(t *testing.T, r release) {
		if !slices.Contains(lines, r.line) {
			return
		}
		dir, port := t.TempDir(), framework.FreePort(t, framework.Loopback)
		file := filepath.Join(dir, "cr.yaml")
		framework.WriteFile(t, file, fmt.Sprintf(monitored, r.version))
		var env []string
		for name, value := range podEnvironment(t, try(t, r, file).Desired.Objects) {
			switch prefix := lineOf(t, r).MetricsEnv; name {
			case prefix + "_ENDPOINT_ENABLED":
				env = append(env, name+"="+value)
			case prefix + "_HOST":
				env = append(env, name+"="+framework.Loopback)
			case prefix + "_PORT":
				env = append(env, name+"="+strconv.Itoa(port))
			}
		}
		if len(env) != 3 {
			t.Fatalf("the pod gets %v", env)
		}
		url, log := bootAt(t, "http://127.0.0.1", client, r, onLoopback(t, newestImageConfig, dir), append(env, "PATH="+os.Getenv("PATH"), "HOME="+dir)...)
		if !healthy(url) { // the metrics count this request
			t.Fatalf("not healthy:\n%s", tail(log()))
		}
		status, text, err := framework.Send(t.Context(), client, http.MethodGet, fmt.Sprintf("http://%s:%d/metrics", framework.Loopback, port), "")
		if err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v: %s\n%s", status, err, text, tail(log()))
		}
		for _, series := range []string{
			`ogx_requests_total\{.*api="inspect".*status_code="200".*\}`, `ogx_request_duration_seconds_bucket\{.*api="inspect".*\}`, `ogx_concurrent_requests\{.*\}`,
		} {
			if !regexp.MustCompile("(?m)^" + series + " ").Match(text) {
				t.Errorf("the dashboards ask for %s, and it serves\n%s", series, text)
			}
		}
	})
}

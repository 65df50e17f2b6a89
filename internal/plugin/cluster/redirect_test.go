// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Requests for objects, logs and forwarded ports go to the API server of the kubeconfig only.
//
// Proves: NFR-003.
func TestConnectionFollowsNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the address of a redirect was asked: %s %s, authorization %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "` + server.URL + `"}}], users: [{name: u, user: {token: t0ken}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Dial(&Flags{kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = "ai", "p"
	for name, ask := range map[string]func() error{
		"an object":        func() error { _, err := c.Get(t.Context(), "my-stack"); return err },
		"a log":            func() error { _, err := c.Logs(t.Context(), "ai", "p", &corev1.PodLogOptions{}); return err },
		"a forwarded port": func() error { return c.Forward(t.Context(), pod, 0, 8321, func(int32) error { return nil }) },
	} {
		before := asked
		if err := ask(); err == nil || !strings.Contains(err.Error(), "which the command does not follow") || asked == before {
			t.Errorf("%s: after %d requests: %v", name, asked-before, err)
		}
	}
}

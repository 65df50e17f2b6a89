// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func serve(t *testing.T, providersStatus int, providers string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"version":"0.7.1"}`))
	})
	mux.HandleFunc("GET /v1/providers", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(providersStatus)
		_, _ = w.Write([]byte(providers))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// Proves: R29, STAT (config and health of the providers are dropped).
func TestProbe(t *testing.T) {
	url := serve(t, http.StatusOK, `{"data":[
		{"api":"inference","provider_id":"vllm","provider_type":"remote::vllm","config":{"token":"canary"},"health":{"status":"Error"}},
		{"api":"files","provider_id":"f","provider_type":"inline::localfs"}]}`)
	got, err := New().Probe(t.Context(), Server{URL: url})
	framework.NoError(t, err)
	want := &Observation{Version: "0.7.1", Providers: []Provider{
		{API: "files", ID: "f", Type: "inline::localfs"}, {API: "inference", ID: "vllm", Type: "remote::vllm"},
	}, Models: List{Error: "GET /v1/models: the server responds with 404 Not Found"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Proves: R39, FR-062 (an HTTPS server without a known certificate is not verified).
func TestProbeOverHTTPS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version":"1.2.0"}`)) }))
	t.Cleanup(server.Close)
	if got, err := New().Probe(t.Context(), Server{URL: server.URL}); err != nil || got.Version != "1.2.0" {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}

// Proves: FR-061, FR-062, R39 (only the Secret's certificate, or one of its CA for the host, is trusted).
func TestProbeVerifiesTheCertificate(t *testing.T) {
	const host = "s-service.ai.svc"
	ca, other := framework.NewCA(t), framework.NewCA(t)
	current, former := ca.ServerSecret([]string{host}), ca.ServerSecret([]string{host})
	leaf, _ := pem.Decode(current["tls.crt"])
	withoutCA := &Trust{Host: host, Leaf: leaf.Bytes}
	withCA := &Trust{Host: host, Leaf: leaf.Bytes, CA: ca.PEM}
	for name, c := range map[string]struct {
		served map[string][]byte
		trust  *Trust
		known  bool
	}{
		"the certificate":                          {current, withoutCA, true},
		"the certificate, of another CA":           {current, &Trust{Host: host, Leaf: leaf.Bytes, CA: other.PEM}, true},
		"the former one":                           {former, withCA, true},
		"the former one without a CA":              {former, withoutCA, false},
		"one of another CA":                        {other.ServerSecret([]string{host}), withCA, false},
		"one of this CA for another host":          {ca.ServerSecret([]string{"other-service.ai.svc"}), withCA, false},
		"an unreadable CA and another certificate": {former, &Trust{Host: host, Leaf: leaf.Bytes, CA: []byte("none")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version":"1.2.0"}`)) }))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(c.served)}}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			t.Cleanup(server.Close)
			got, err := New().Probe(t.Context(), Server{URL: server.URL, Trust: c.trust})
			switch {
			case c.known && (err != nil || got.Version != "1.2.0"):
				t.Errorf("Ask = %+v, %v", got, err)
			case !c.known && (err == nil || !errors.Is(err, errUntrusted)):
				t.Errorf("Ask = %+v, %v, want %v", got, err, errUntrusted)
			}
		})
	}
}

// Proves: R29 (a 401 for the providers keeps the rest of the response).
func TestProbeOfServerThatRequiresCredentials(t *testing.T) {
	got, err := New().Probe(t.Context(), Server{URL: serve(t, http.StatusUnauthorized, `{"error":{"message":"no"}}`)})
	if err != nil || !got.ProvidersHidden || got.Version != "0.7.1" {
		t.Errorf("Ask = %+v, %v", got, err)
	}
}

func TestProbeReportsFailures(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"server error": {http.StatusInternalServerError, "", "500"},
		"redirect":     {http.StatusFound, "", "302"},
		"not JSON":     {http.StatusOK, "<html>", "not the expected JSON"},
		"too much":     {http.StatusOK, `{"data":[` + strings.Repeat(" ", maxBody) + `]}`, "larger than 1024 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New().Probe(t.Context(), Server{URL: serve(t, c.status, c.body)})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "/v1/providers") {
				t.Errorf("error %v, want it to name the request and %q", err, c.want)
			}
		})
	}
}

// Proves: R82, R35, R29, R63 (model names of all release lines, and only the requested lists; invalid entries are
// dropped, and hidden lists are reported).
func TestProbeListsRegisteredResources(t *testing.T) {
	const path = "/v1alpha/things"
	hidden := List{Error: "GET %s: the server requires credentials", Hidden: true}
	for name, c := range map[string]struct {
		status       int
		answer       string
		models, list List
	}{
		"OpenAI's form": {
			200, `{"data":[{"id":"vllm/b","custom_metadata":{"provider_id":"vllm"}},{"id":"vllm/a","custom_metadata":{"provider_id":"vllm"}}]}`,
			List{Entries: []Entry{{"vllm", "vllm/a"}, {"vllm", "vllm/b"}}}, List{Entries: []Entry{{"", "vllm/a"}, {"", "vllm/b"}}},
		},
		"release line 0.3": {
			200, `{"data":[{"identifier":"m","provider_id":"vllm"}]}`, List{Entries: []Entry{{"vllm", "m"}}}, List{Entries: []Entry{{"vllm", "m"}}},
		},
		"connectors": {200, `{"data":[{"connector_id":"github","url":"http://canary"}]}`, List{Truncated: true}, List{Entries: []Entry{{"", "github"}}}},
		"another page": {
			200, `{"data":[{"id":"docs","name":"canary","metadata":{"provider_id":7}}],"has_more":true}`, List{Truncated: true}, List{Entries: []Entry{{"", "docs"}}, Truncated: true},
		},
		"left out": {
			200, `{"data":[{"id":"a\nb","provider_id":"v"},{"id":"x"},{"id":"y","provider_id":"v"},{"id":"y","provider_id":"v"},null]}`,
			List{Entries: []Entry{{"v", "y"}}, Truncated: true}, List{Entries: []Entry{{"", "x"}, {"v", "y"}}, Truncated: true},
		},
		"none":        {200, `{"data":[]}`, List{}, List{}},
		"credentials": {401, `canary`, hidden, hidden},
		"a policy":    {403, `canary`, hidden, hidden},
		"no such list": {
			404, `canary`, List{Error: "GET %s: the server responds with 404 Not Found"}, List{Error: "GET %s: the server responds with 404 Not Found"},
		},
		"broken": {
			200, `{"data":`, List{Error: "GET %s: the response is not the expected JSON"}, List{Error: "GET %s: the response is not the expected JSON"},
		},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /v1/version", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"version":"0.7.1"}`)) })
		mux.HandleFunc("GET /v1/providers", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data":[]}`)) })
		query := ""
		for _, list := range []string{"/v1/models", path} {
			mux.HandleFunc("GET "+list, func(w http.ResponseWriter, r *http.Request) {
				query += r.URL.RawQuery
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			})
		}
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		got, err := New().Probe(t.Context(), Server{URL: server.URL, Lists: map[string]string{"things": path + "?limit=100"}})
		c.models.Error, c.list.Error = strings.ReplaceAll(c.models.Error, "%s", "/v1/models"), strings.ReplaceAll(c.list.Error, "%s", path)
		want := &Observation{Version: "0.7.1", Models: c.models, Lists: map[string]List{"things": c.list}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || query != "limit=100" {
			t.Errorf("%s: %v, query %q (-want +got):\n%s", name, err, query, diff)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R95 (only an error of the server counts as a failure; a refused caller proves nothing).
func TestStoresReportsTheServersResponses(t *testing.T) {
	codes := map[string]int{
		"/ok": http.StatusOK, "/absent": http.StatusNotFound, "/invalid": http.StatusBadRequest, "/error": http.StatusInternalServerError,
		"/gateway": http.StatusBadGateway, "/hidden": http.StatusUnauthorized, "/forbidden": http.StatusForbidden,
		"/limited": http.StatusTooManyRequests, "/moved": http.StatusFound,
	}
	want := map[string]StoreResult{
		"/ok": StoreRead, "/absent": StoreRead, "/invalid": StoreRead, "/error": StoreFailed, "/gateway": StoreFailed,
		"/hidden": StoreHidden, "/forbidden": StoreHidden, "/limited": StoreUnknown, "/moved": StoreUnknown, "/closed": StoreUnknown,
	}
	var followed, credentials atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			credentials.Add(1)
		}
		switch r.URL.Path {
		case "/v1/version":
			_, _ = w.Write([]byte(`{"version":"0.7.1"}`))
		case "/followed":
			followed.Add(1)
		case "/closed":
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Location", "/followed")
			w.WriteHeader(codes[r.URL.Path])
		}
	}))
	t.Cleanup(server.Close)
	paths := map[string]string{}
	for path := range want {
		paths[path] = path
	}
	got, err := New().Stores(t.Context(), Server{URL: server.URL, Stores: paths})
	framework.NoError(t, err)
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if followed.Load()+credentials.Load() != 0 {
		t.Errorf("%d redirects followed, %d credentials sent", followed.Load(), credentials.Load())
	}
	if got, err := New().Stores(t.Context(), Server{URL: server.URL}); err != nil || got != nil {
		t.Errorf("without stores: %v, %v", got, err)
	}
}

// Proves: R95 (a server that does not respond at all says nothing of its stores).
func TestStoresOfSilentServerAreUnknown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if got, err := New().Stores(t.Context(), Server{URL: server.URL, Stores: map[string]string{"a": "/a"}}); err == nil {
		t.Errorf("got %v", got)
	}
}

// Proves: R63 (the body of a response is not read).
func TestStoresReadsNoBodies(t *testing.T) {
	address := listen(t, sendTexts("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"+canary))
	client := New()
	at, err := client.target(Server{URL: "http://" + address})
	framework.NoError(t, err)
	if got := client.stores(t.Context(), at, map[string]string{"a": "/a"}); got["a"] != StoreRead {
		t.Errorf("got %v", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

type written struct {
	to chan string
}

func (w written) Write(text []byte) (int, error) {
	w.to <- string(text)
	return len(text), nil
}

// The page is served on loopback until the context ends. Its policy permits no other origins.
func TestPlaygroundServesThePage(t *testing.T) {
	page := fstest.MapFS{
		"index.html": {Data: []byte("<p>page</p>")}, "main.js": {Data: []byte("1")}, "engine.wasm.br": {Data: []byte{1}}, "brotli.wasm": {Data: []byte{1}},
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := written{make(chan string, 1)}, make(chan error, 1)
	go func() { ended <- run(ctx, page, 0, cli.Streams{Out: out, Err: io.Discard}) }()
	var url string
	select {
	case line := <-out.to:
		url = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
	case err := <-ended:
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method, path, accepts string
		status                int
		kind, encoding        string
	}{
		"page":                       {method: http.MethodGet, status: 200, kind: "text/html; charset=utf-8"},
		"code":                       {method: http.MethodGet, path: "main.js", status: 200, kind: "text/javascript; charset=utf-8"},
		"engine":                     {method: http.MethodGet, path: "engine.wasm.br", status: 200, kind: "application/octet-stream"},
		"engine for a browser":       {http.MethodGet, "engine.wasm.br", "gzip, deflate, br, zstd", 200, "application/wasm", "br"},
		"engine for another browser": {http.MethodGet, "engine.wasm.br", "gzip, deflate", 200, "application/octet-stream", ""},
		"decoder":                    {http.MethodGet, "brotli.wasm", "gzip, deflate, br", 200, "application/wasm", ""},
		"other":                      {method: http.MethodGet, path: "other", status: 404, kind: "text/plain; charset=utf-8"},
		"outside":                    {method: http.MethodGet, path: "../server.go", status: 404, kind: "text/plain; charset=utf-8"},
		"wrong verbs":                {method: http.MethodPost, status: 405, kind: "text/plain; charset=utf-8"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, url+c.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if c.accepts != "" {
			request.Header.Set("Accept-Encoding", c.accepts)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.status || response.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s: %s, %s", name, response.Status, response.Header.Get("Content-Type"))
		}
		if got := response.Header.Get("Content-Encoding"); got != c.encoding {
			t.Errorf("%s: the encoding is %q", name, got)
		}
		if got := response.Header.Get("Content-Security-Policy"); c.status == http.StatusOK && (!strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe-inline")) {
			t.Errorf("%s: the policy is %q", name, got)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
}

func TestPlaygroundPrintsHowToGetThePage(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), fstest.MapFS{}, 0, cli.Streams{Out: &out, Err: &out})
	if err == nil || !strings.Contains(err.Error(), "make playground build") || out.Len() > 0 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

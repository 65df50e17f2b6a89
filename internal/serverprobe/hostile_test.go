// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// canary is in the data of hostile servers and must not appear elsewhere.
	canary = "canary-7f3a"
	ok     = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
)

// listen starts a server that calls a function for each connection.
func listen(t *testing.T, to func(net.Conn)) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	framework.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				to(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// sendTexts sends texts before a request arrives, and then waits until the client closes the connection.
func sendTexts(texts ...string) func(net.Conn) {
	return func(conn net.Conn) {
		for _, text := range texts {
			_, _ = io.WriteString(conn, text)
		}
		_, _ = io.Copy(io.Discard, conn)
	}
}

// sendRepeatedly sends a head, and then a text until the client closes the connection.
func sendRepeatedly(head, text string, pause time.Duration) func(net.Conn) {
	return func(conn net.Conn) {
		_, err := io.WriteString(conn, head)
		for err == nil {
			time.Sleep(pause) //nolint:forbidigo // a server that is slow
			_, err = io.WriteString(conn, text)
		}
	}
}

// body returns a response with a body.
func body(text string) string {
	return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(text), text)
}

// Proves: R63 (the error is a fixed text, and the probe ends).
func TestProbeReportsHostileServersWithFixedTexts(t *testing.T) {
	const get = "GET /v1/version: "
	for name, c := range map[string]struct {
		server func(net.Conn)
		scheme string
		want   string
	}{
		"SSH":                    {sendTexts("SSH-2.0-OpenSSH_9.9 " + canary + "\r\n"), "http", "the response is not HTTP"},
		"SMTP":                   {sendTexts("220 mail.example ESMTP " + canary + "\r\n"), "http", "the response is not HTTP"},
		"MySQL":                  {sendTexts("J\x00\x00\x00\n8.4.0 " + canary + "\x00"), "http", "the response is not HTTP"},
		"SSH behind TLS":         {sendTexts("SSH-2.0-OpenSSH_9.9 " + canary + "\r\n"), "https", "the TLS handshake failed"},
		"HTTP behind TLS":        {sendTexts("HTTP/1.1 400 " + canary + "\r\n\r\n"), "https", "the TLS handshake failed"},
		"closes at once":         {func(net.Conn) {}, "http", ""}, // reset or not HTTP, depending on the system
		"reason of its own":      {sendTexts("HTTP/1.1 500 " + canary + "\r\n\r\n"), "http", "the server responds with 500 Internal Server Error"},
		"code of its own":        {sendTexts("HTTP/1.1 799 " + canary + "\r\n\r\n"), "http", "the server responds with 799"},
		"no code":                {sendTexts("HTTP/1.1 " + canary + "\r\n\r\n"), "http", "the response is not HTTP"},
		"another protocol":       {sendTexts("HTTP/1.1 101 Switching Protocols\r\nUpgrade: " + canary + "\r\n\r\n"), "http", "the server responds with 101 Switching Protocols"},
		"early hints":            {sendRepeatedly("", "HTTP/1.1 103 Early Hints\r\nLink: "+canary+"\r\n\r\n", 0), "http", "the server responds with 103 Early Hints"},
		"malformed header":       {sendTexts(ok + canary + "\r\n\r\n"), "http", "the response is not HTTP"},
		"two lengths":            {sendTexts(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"), "http", "the response is not HTTP"},
		"flood of headers":       {sendRepeatedly(ok, "X-"+canary+": "+strings.Repeat("x", 1000)+"\r\n", 0), "http", "the response headers are larger than 16 KiB"},
		"one endless header":     {sendRepeatedly(ok+"X: ", strings.Repeat(canary, 1000), 0), "http", "the response headers are larger than 16 KiB"},
		"endless status line":    {sendRepeatedly("HTTP/1.1 200 ", strings.Repeat(canary, 1000), 0), "http", "the response headers are larger than 16 KiB"},
		"endless body":           {sendRepeatedly(ok+"\r\n", strings.Repeat(canary, 1000), 0), "http", "the response is larger than 1024 KiB"},
		"endless chunks":         {sendRepeatedly(ok+"Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("1\r\n[\r\n", 1000), 0), "http", "the response is larger than 1024 KiB"},
		"endless white space":    {sendRepeatedly(ok+"\r\n{", strings.Repeat(" ", 1000), 0), "http", "the response is larger than 1024 KiB"},
		"terabytes are promised": {sendTexts(ok + "Content-Length: 9000000000000\r\n\r\n{"), "http", "no response in time"},
		"malformed chunk":        {sendTexts(ok + "Transfer-Encoding: chunked\r\n\r\n" + canary + "\r\n"), "http", "the response is truncated"},
		"silence":                {sendTexts(), "http", "no response in time"},
		"silence behind TLS":     {sendTexts(), "https", "no response in time"},
		"header drip":            {sendRepeatedly(ok, "x", 20*time.Millisecond), "http", "no response in time"},
		"body drip":              {sendRepeatedly(ok+"\r\n", " ", 20*time.Millisecond), "http", "no response in time"},
		"trailer drip": {
			sendRepeatedly(ok+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "x", 20*time.Millisecond), "http", "no response in time",
		},
		"HTML":            {sendTexts(body("<html>" + canary)), "http", "the response is not the expected JSON"},
		"compressed":      {sendTexts(ok + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00"), "http", "the response is not the expected JSON"},
		"another type":    {sendTexts(body(`{"version":{"` + canary + `":1}}`)), "http", "the response is not the expected JSON"},
		"list":            {sendTexts(body(`["` + canary + `"]`)), "http", "the response is not the expected JSON"},
		"no version":      {sendTexts(body(`{}`)), "http", "the response is not the expected JSON"},
		"long version":    {sendTexts(body(`{"version":"` + strings.Repeat("1", 65) + `"}`)), "http", "the response is not the expected JSON"},
		"talking version": {sendTexts(body(`{"version":"1.0 ` + canary + `\u001b[2J"}`)), "http", "the response is not the expected JSON"},
		"deep": {
			sendTexts(body(`{"version":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "}")), "http", "the response is not the expected JSON",
		},
		"wide": {sendTexts(body(`{"x":[` + strings.Repeat("0,", 200_000) + `0],"version":"1"}`)), "http", "the response is not the expected JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			var printed bytes.Buffer
			defer log.SetOutput(log.Writer())
			log.SetOutput(&printed)
			enough := time.Minute
			if c.want == errTimeout.Error() {
				enough = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), enough)
			defer cancel()
			o, err := New().Probe(ctx, Server{URL: c.scheme + "://" + listen(t, c.server)})
			if err == nil || o != nil {
				t.Fatalf("observed %+v", o)
			}
			if want := get + c.want; c.want != "" && err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(printed.String(), canary) || printed.Len() > 0 {
				t.Errorf("error %q, printed %q", err, printed.String())
			}
		})
	}
}

// Proves: R63 (a server that sends byte after byte reaches the probe's own timeout).
func TestProbeHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	_, err := New().Probe(t.Context(), Server{URL: "http://" + listen(t, sendRepeatedly(ok+"\r\n", " ", 100*time.Millisecond))})
	if err == nil || err.Error() != "GET /v1/version: no response in time" {
		t.Errorf("error %v", err)
	}
}

// Proves: R63 (redirects and proxies of the environment are ignored).
func TestProbeIgnoresRedirectsAndProxies(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = w.Write([]byte(`{"version":"6.6.6"}`))
	}))
	t.Cleanup(other.Close)
	for _, variable := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(variable, other.URL)
	}
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/version", code))
		t.Cleanup(server.Close)
		_, err := New().Probe(t.Context(), Server{URL: server.URL})
		if want := fmt.Sprintf("GET /v1/version: the server responds with %d %s", code, http.StatusText(code)); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went to another server", n)
	}
}

// providersOf probes a server with this list of providers.
func providersOf(t *testing.T, entries string) *Observation {
	t.Helper()
	got, err := New().Probe(t.Context(), Server{URL: serve(t, http.StatusOK, `{"data":[`+entries+`]}`)})
	framework.NoError(t, err)
	return got
}

func entry(api, id, kind string) string {
	return fmt.Sprintf(`{"api":%q,"provider_id":%q,"provider_type":%q}`, api, id, kind)
}

// Proves: R29, R63 (one entry for each API and id, only printable ones, up to the status limit).
func TestProbeBoundsLists(t *testing.T) {
	good := entry("inference", "vllm", "remote::vllm")
	for name, c := range map[string]struct {
		entries       string
		kept, leftOut int
	}{
		"twice":        {good + "," + entry("inference", "vllm", "remote::other"), 1, 1},
		"other API":    {good + "," + entry("safety", "vllm", "remote::vllm"), 2, 0},
		"no names":     {good + `,{},null,{"api":"x"}`, 1, 3},
		"long":         {good + "," + entry("inference", strings.Repeat("x", maxName+1), "t"), 1, 1},
		"control":      {good + `,{"api":"x","provider_id":"a\u001b[2J","provider_type":"t"},{"api":"x","provider_id":"a\nb","provider_type":"t"}`, 1, 2},
		"ten thousand": {good + strings.Repeat(","+good, 9_999), 1, 9_999},
	} {
		got := providersOf(t, c.entries)
		if len(got.Providers) != c.kept || got.Ignored != c.leftOut || got.Providers[0] != (Provider{"inference", "vllm", "remote::vllm"}) {
			t.Errorf("%s: kept %d, left out %d, first %+v; want %d, %d", name, len(got.Providers), got.Ignored, got.Providers[0], c.kept, c.leftOut)
		}
	}
	var many []string
	for i := range 5_000 {
		many = append(many, entry("inference", fmt.Sprintf("provider-%d", i), "remote::vllm"))
	}
	got, size := providersOf(t, strings.Join(many, ",")), 0
	for _, p := range got.Providers {
		size += len(p.API) + len(p.ID) + len(p.Type)
	}
	if size > maxListBytes || len(got.Providers) > maxProviders || len(got.Providers)+got.Ignored != 5_000 || size < maxListBytes/2 {
		t.Errorf("kept %d providers with %d bytes, left out %d", len(got.Providers), size, got.Ignored)
	}
}

// Proves: R63 (slow servers with large responses keep no other server from a slot).
func TestProbeReadsLargeResponseDespiteSlowOnes(t *testing.T) {
	t.Parallel()
	const hostile = 15
	head := ok + "\r\n" + strings.Repeat(" ", 2*smallBody)
	slow := listen(t, sendRepeatedly(head, " ", 50*time.Millisecond))
	client := New()
	ended := make(chan error)
	for range hostile {
		go func() {
			_, err := client.Probe(t.Context(), Server{URL: "http://" + slow, Slow: true})
			ended <- err
		}()
	}
	framework.Eventually(t, time.Minute, "the servers that drip have all places", func() error {
		if client.largeOfSlow.TryAcquire(1) {
			client.largeOfSlow.Release(1)
			return errors.New("a place is free")
		}
		return nil
	})
	large := serve(t, http.StatusOK, `{"data":[`+entry("inference", "vllm", "remote::vllm")+`],"x":"`+strings.Repeat("x", 900<<10)+`"}`)
	began := time.Now()
	if _, err := client.Probe(t.Context(), Server{URL: large}); err != nil || time.Since(began) >= largeTimeout {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	for range hostile {
		if err := <-ended; err == nil || err.Error() != "GET /v1/version: no response in time" {
			t.Errorf("error %v", err)
		}
	}
	for _, all := range []*semaphore.Weighted{client.large, client.largeOfSlow} {
		if !all.TryAcquire(maxLargeResponses) {
			t.Error("places are left behind")
		}
	}
}

// Large responses wait for each other, and all of them are read.
func TestProbeReadsManyLargeResponses(t *testing.T) {
	server := serve(t, http.StatusOK, `{"data":[`+entry("inference", "vllm", "remote::vllm")+`],"x":"`+strings.Repeat("x", 900<<10)+`"}`)
	client := New()
	failed := make(chan error)
	const asked = 20
	for range asked {
		go func() {
			_, err := client.Probe(t.Context(), Server{URL: server})
			failed <- err
		}()
	}
	for range asked {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

// inner is the text of a server that only the operator can reach.
const inner = "canary-of-an-inner-server"

// Proves: R7, R14, R63 (an image name or a registry can lead to any server that the operator can reach).
func TestErrorsQuoteNoResponse(t *testing.T) {
	writes := func(status int, header, value, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set(header, value)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	after := func(path string, then func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, path) {
				return then(w, r)
			}
			return writes(http.StatusOK, "Content-Type", "application/json", "{}")(w, r)
		}
	}
	token := func(answer func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/token" {
				return answer(w, r)
			}
			return writes(http.StatusUnauthorized, "WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="s"`, "")(w, r)
		}
	}
	for name, before := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"a token service without a token": token(writes(http.StatusOK, "A", "b", `{"password": "`+inner+`"}`)),
		"a token service without JSON":    token(writes(http.StatusOK, "A", "b", inner)),
		"a token service that refuses":    token(writes(http.StatusForbidden, "A", "b", `{"errors":[{"code":"`+inner+`","message":"`+inner+`"}]}`)),
		"a type":                          after("/manifests/", writes(http.StatusOK, "Content-Type", "text/"+inner, "x")),
		"a manifest":                      after("/manifests/", writes(http.StatusOK, "Content-Type", "application/vnd.oci.image.manifest.v1+json", `{"config":{"digest":"`+inner+`"}}`)),
		"an index":                        after("/manifests/", writes(http.StatusOK, "Content-Type", "application/vnd.oci.image.index.v1+json", `{"manifests":[{"digest":"`+inner+`"}]}`)),
		"no JSON":                         after("/manifests/", writes(http.StatusOK, "Content-Type", "application/vnd.oci.image.manifest.v1+json", inner)),
		"a failure":                       writes(http.StatusTeapot, "A", "b", `{"errors":[{"code":"`+inner+`","message":"`+inner+`"}]}`),
		"a challenge":                     writes(http.StatusUnauthorized, "WWW-Authenticate", `Bearer service="`+inner+`"`, ""),
		"a realm":                         writes(http.StatusUnauthorized, "WWW-Authenticate", `Bearer realm="ftp://`+inner+`/"`, ""),
		"a redirect to plain HTTP":        writes(http.StatusFound, "Location", "http://"+inner+".example.com/"+inner, ""),
		"a redirect that leads nowhere":   writes(http.StatusFound, "Location", "https://127.0.0.1:1/?signature="+inner, ""),
		"a redirect that is no address":   writes(http.StatusFound, "Location", "https://["+inner, ""),
		"a digest":                        after("/manifests/", writes(http.StatusOK, "Docker-Content-Digest", "sha256:"+inner, "{}")),
	} {
		s := serve(t, httptest.NewServer, before)
		for _, ask := range []func(string) error{
			func(image string) error { _, err := s.client().Image(until(t), image, nil); return err },
			func(image string) error { _, err := s.client().Digest(until(t), image, nil); return err },
		} {
			switch err := ask(s.host() + "/team/server:1"); {
			case err == nil && strings.HasPrefix(name, "a manifest"), err == nil && name == "an index", err == nil && name == "no JSON", err == nil && name == "a type":
				// any digest can be requested
			case err == nil || strings.Contains(err.Error(), inner) || registry.KindOf(err) == "":
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, address := range map[string]string{"a banner": serveText(t, "SSH-2.0-"+inner+"\r\n"), "headers": serveText(t, "HTTP/1.1 200 OK\r\n"+inner+"\r\n\r\n")} {
		_, err := registry.New(registry.Options{PlainHTTP: []string{address}}).Image(until(t), address+"/team/server:1", nil)
		if err == nil || strings.Contains(err.Error(), inner) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := serve(t, httptest.NewTLSServer)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	local := strings.Replace(s.host(), "127.0.0.1", "localhost", 1)
	_, err := registry.New(registry.Options{CACertificates: roots, Local: []string{local}}).Image(until(t), local+"/team/server:1", nil)
	if err == nil || strings.Contains(err.Error(), "example.com") || !strings.Contains(err.Error(), "its certificate is for other host names") {
		t.Errorf("a certificate for example.com: %v", err)
	}
}

// serveText returns the address of a server that sends the text on each connection.
func serveText(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, text)
			_, _ = connection.Read(make([]byte, 1<<10))
			_ = connection.Close()
		}
	}()
	return listener.Addr().String()
}

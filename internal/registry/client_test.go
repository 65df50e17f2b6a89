// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

// testRegistry is a real registry on loopback that records its requests.
type testRegistry struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

// serve starts a registry. Each handler of before reports whether it has handled the request.
func serve(t *testing.T, start func(http.Handler) *httptest.Server, before ...func(http.ResponseWriter, *http.Request) bool) *testRegistry {
	t.Helper()
	images := ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)))
	s := &testRegistry{}
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		for _, handler := range before {
			if handler(w, r) {
				return
			}
		}
		images.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *testRegistry) host() string {
	_, host, _ := strings.Cut(s.URL, "://")
	return host
}

// countRequests returns the number of requests of a kind since the last call of forget.
func (s *testRegistry) countRequests(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, request := range s.requests {
		if strings.Contains(request, kind) {
			n++
		}
	}
	return n
}

func (s *testRegistry) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

// push pushes an image and returns its reference by tag.
func (s *testRegistry) push(t *testing.T, what remote.Taggable) string {
	t.Helper()
	reference := s.host() + "/team/server:1"
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(ref, what, remote.WithTransport(s.Client().Transport)); err != nil {
		t.Fatal(err)
	}
	s.forget()
	return reference
}

// client returns a Client that uses the registry without TLS.
func (s *testRegistry) client(change ...func(*registry.Options)) *registry.Client {
	options := registry.Options{PlainHTTP: []string{s.host()}}
	for _, c := range change {
		c(&options)
	}
	return registry.New(options)
}

func image(t *testing.T, labels map[string]string, layers ...v1.Layer) v1.Image {
	t.Helper()
	made, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	if made, err = mutate.AppendLayers(made, layers...); err != nil {
		t.Fatal(err)
	}
	return made
}

// until returns a context that ends before the test does.
func until(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Proves: FR-020, FR-027a, FR-027d, NFR-006 (one manifest and one configuration are read for each image).
func TestImageReadsLabels(t *testing.T) {
	s := serve(t, httptest.NewServer)
	labels := map[string]string{"io.llamastack.config.base64": "dmVyc2lvbjogMgo="}
	pushed := image(t, labels)
	reference := s.push(t, pushed)
	found, err := s.client().Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := pushed.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&registry.Image{Digest: digest.String(), Labels: labels}, found); diff != "" {
		t.Error(diff)
	}
	if manifests, blobs := s.countRequests("GET /v2/team/server/manifests/"), s.countRequests("GET /v2/team/server/blobs/"); manifests != 1 || blobs != 1 {
		t.Errorf("%d manifests and %d blobs were read, want one each: %v", manifests, blobs, s.requests)
	}
}

func TestDigestRequestsTagOnceAndDigestNever(t *testing.T) {
	s := serve(t, httptest.NewServer)
	pushed := image(t, nil)
	reference := s.push(t, pushed)
	want, err := pushed.Digest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.client().Digest(until(t), reference, nil)
	if err != nil || got != want.String() {
		t.Errorf("the tag stands for %s, %v; want %s", got, err, want)
	}
	if n := s.countRequests("/manifests/"); n != 1 || s.countRequests("HEAD") != n {
		t.Errorf("want one request without a body: %v", s.requests)
	}
	s.forget()
	got, err = s.client().Digest(until(t), s.host()+"/team/server@"+want.String(), nil)
	if err != nil || got != want.String() || len(s.requests) != 0 {
		t.Errorf("%s, %v after %v; want %s without a request", got, err, s.requests, want)
	}
}

// Proves: R14 (the platform of the nodes is selected).
func TestImageChoosesThePlatform(t *testing.T) {
	s := serve(t, httptest.NewServer)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: image(t, map[string]string{"for": "arm64"}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}}},
		mutate.IndexAddendum{Add: image(t, map[string]string{"for": "amd64"}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}},
	)
	reference := s.push(t, index)
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.client(withPlatform("arm64")).Image(until(t), reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	if found.Labels["for"] != "arm64" || found.Digest != digest.String() {
		t.Errorf("labels %v of %s; want those for arm64, and the digest of the index %s", found.Labels, found.Digest, digest)
	}
	_, err = s.client(withPlatform("s390x")).Image(until(t), reference, nil)
	if registry.KindOf(err) != registry.NotAnImage || !strings.Contains(err.Error(), "only for: linux/amd64, linux/arm64") {
		t.Errorf("for a platform that is not there: %v", err)
	}
}

func withPlatform(architecture string) func(*registry.Options) {
	return func(o *registry.Options) { o.Platform = v1.Platform{OS: "linux", Architecture: architecture} }
}

// key is a keychain with one user and password.
type key struct{ user, password string }

func (k key) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}

// Proves: FR-027c (credentials reach the registry, and errors do not quote them).
func TestImageUsesCredentials(t *testing.T) {
	basic := func(w http.ResponseWriter, r *http.Request) bool {
		if user, password, _ := r.BasicAuth(); user == "pull" && password == "s3cret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}`, http.StatusUnauthorized)
		return true
	}
	token := func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		switch {
		case r.URL.Path == "/token" && user == "pull" && password == "s3cret":
			_, _ = io.WriteString(w, `{"token": "made-for-pull"}`)
			return true
		case r.URL.Path == "/token":
			http.Error(w, "who are you", http.StatusUnauthorized)
			return true
		case r.Header.Get("Authorization") == "Bearer made-for-pull":
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="http://`+r.Host+`/token",service="registry"`)
		http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"no"}]}`, http.StatusUnauthorized)
		return true
	}
	for kind, check := range map[string]func(http.ResponseWriter, *http.Request) bool{"basic": basic, "token": token} {
		t.Run(kind, func(t *testing.T) {
			open := true // while the test pushes
			s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool { return !open && check(w, r) })
			reference := s.push(t, image(t, map[string]string{"a": "b"}))
			open = false
			found, err := s.client().Image(until(t), reference, key{"pull", "s3cret"})
			if err != nil || found.Labels["a"] != "b" {
				t.Errorf("with credentials: %v, %v", found, err)
			}
			own := s.client(func(o *registry.Options) { o.Fallback = key{"pull", "s3cret"} })
			if found, err := own.Image(until(t), reference, nil); err != nil || found.Labels["a"] != "b" {
				t.Errorf("with credentials of the client's own: %v, %v", found, err)
			}
			if _, err := own.Image(until(t), reference, key{"pull", "another"}); registry.KindOf(err) != registry.Unauthorized {
				t.Errorf("the caller's credentials do not come first: %v", err)
			}
			for name, keys := range map[string]authn.Keychain{"none": nil, "wrong": key{"pull", "canary-5f2"}} {
				_, err := s.client().Image(until(t), reference, keys)
				if registry.KindOf(err) != registry.Unauthorized || strings.Contains(err.Error(), "canary-5f2") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Proves: FR-027f, R14.
func TestImageTrustsConfiguredCACertificates(t *testing.T) {
	s := serve(t, httptest.NewTLSServer)
	reference := s.push(t, image(t, map[string]string{"a": "b"}))
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	found, err := registry.New(registry.Options{CACertificates: roots, Local: []string{s.host()}}).Image(until(t), reference, nil)
	if err != nil || found.Labels["a"] != "b" {
		t.Errorf("with the CA certificate: %v, %v", found, err)
	}
	_, err = registry.New(registry.Options{Local: []string{s.host()}}).Image(until(t), reference, nil)
	if registry.KindOf(err) != registry.Unreachable || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without it: %v", err)
	}
}

// The library uses plain HTTP for names like localhost or 10.1.2.3; the client must not.
func TestPlainHTTPNeedsASetting(t *testing.T) {
	s := serve(t, httptest.NewServer)
	reference := s.push(t, image(t, nil))
	_, err := registry.New(registry.Options{}).Image(until(t), reference, nil)
	if err == nil || s.countRequests("/manifests/") != 0 {
		t.Errorf("%v after %v; want a refusal", err, s.requests)
	}
	_, err = s.client(func(o *registry.Options) { o.Allowed = []string{"registry.example.com"} }).Image(until(t), reference, nil)
	if registry.KindOf(err) != registry.Refused || !strings.Contains(err.Error(), "registry.example.com") {
		t.Errorf("a registry outside of the list: %v", err)
	}
}

func TestAddressesOfTheMachineAreRefused(t *testing.T) {
	var reached bool
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	t.Cleanup(inner.Close)
	_, port, _ := strings.Cut(inner.Listener.Addr().String(), ":")
	for _, target := range []string{"http://169.254.169.254/latest", "https://169.254.169.254/latest", "https://[fe80::1]/", "https://localhost:" + port + "/", "https://0.0.0.0/"} {
		leads := false
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
			if leads && strings.Contains(r.URL.Path, "/blobs/") {
				http.Redirect(w, r, target, http.StatusTemporaryRedirect)
				return true
			}
			return false
		})
		reference := s.push(t, image(t, nil))
		leads = true
		_, err := s.client().Image(until(t), reference, nil)
		if registry.KindOf(err) != registry.Refused && (err == nil || !strings.Contains(err.Error(), "SSRF")) {
			t.Errorf("%s: %v; want a refusal", target, err)
		}
	}
	if reached {
		t.Error("a server on loopback was reached")
	}
}

// Proves: R14.
func TestErrorsHaveKinds(t *testing.T) {
	answer := func(status int, header, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/manifests/") {
				return false
			}
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		before func(http.ResponseWriter, *http.Request) bool
		want   registry.Kind
		wait   time.Duration
	}{
		"no such image":    {nil, registry.NotFound, 0},
		"too many":         {answer(http.StatusTooManyRequests, "90", ""), registry.RateLimited, 90 * time.Second},
		"away for a while": {answer(http.StatusServiceUnavailable, "30", ""), registry.Unreachable, 30 * time.Second},
		"forever":          {answer(http.StatusTooManyRequests, "999999999", ""), registry.RateLimited, 6 * time.Hour},
		"forbidden":        {answer(http.StatusForbidden, "", ""), registry.Unauthorized, 0},
		"broken":           {answer(http.StatusInternalServerError, "", strings.Repeat("x", 100_000)), registry.Unreachable, 0},
		"nonsense":         {answer(http.StatusOK, "", "<html>"), registry.NotAnImage, 0},
		"huge":             {answer(http.StatusOK, "", strings.Repeat(" ", 5<<20)), registry.TooLarge, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var before []func(http.ResponseWriter, *http.Request) bool
			if c.before != nil {
				before = append(before, c.before)
			}
			s := serve(t, httptest.NewServer, before...)
			_, err := s.client().Image(until(t), s.host()+"/team/none:1", nil)
			if registry.KindOf(err) != c.want || len(err.Error()) > 1<<10 {
				t.Fatalf("%v is %s, want %s", err, registry.KindOf(err), c.want)
			}
			if got := retryAfter(err); got != c.wait {
				t.Errorf("to wait: %s, want %s", got, c.wait)
			}
		})
	}
	_, err := registry.New(registry.Options{Local: []string{"127.0.0.1:1"}}).Image(until(t), "127.0.0.1:1/team/none:1", nil)
	if registry.KindOf(err) != registry.Unreachable || !registry.KindOf(err).IsTransient() {
		t.Errorf("no listener: %v is %s", err, registry.KindOf(err))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := registry.New(registry.Options{}).Image(ended, "127.0.0.1:1/team/none:1", nil); registry.KindOf(err) != registry.Unreachable {
		t.Errorf("canceled: %v is %s", err, registry.KindOf(err))
	}
	for _, reference := range []string{"127.0.0.1:1/team/none:1", "169.254.169.254/team/none:1", "localhost:1/none:1"} {
		if _, err := registry.New(registry.Options{}).Image(until(t), reference, nil); registry.KindOf(err) != registry.Refused {
			t.Errorf("%s, which no setting names: %v is %s", reference, err, registry.KindOf(err))
		}
	}
	if _, err := registry.New(registry.Options{}).Image(until(t), "A B", nil); registry.KindOf(err) != registry.InvalidReference {
		t.Errorf("no reference: %v", err)
	}
}

func TestInvalidDigestsAreRejected(t *testing.T) {
	lies := false
	s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) bool {
		if lies && strings.Contains(r.URL.Path, "/blobs/") {
			_, _ = w.Write(bytes.Repeat([]byte(" "), 300))
			return true
		}
		return false
	})
	reference := s.push(t, image(t, map[string]string{"a": "b"}))
	lies = true
	_, err := s.client().Image(until(t), reference, nil)
	if registry.KindOf(err) != registry.Corrupt {
		t.Errorf("%v is %s, want %s", err, registry.KindOf(err), registry.Corrupt)
	}
}

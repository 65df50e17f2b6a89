// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// authAudience is the audience of the tests' tokens.
const authAudience = "my-stack"

// authServer is a real server with spec.auth.
type authServer struct {
	url string
	log func() string
}

// bootAuth boots a release with a spec.auth over testdata/files-base.yaml. values are the values of its Secrets.
func bootAuth(t *testing.T, r release, auth string, values ...string) *authServer {
	t.Helper()
	return bootAuthWith(t, r, nil, auth, values...)
}

// bootAuthWith is bootAuth with additional environment variables.
func bootAuthWith(t *testing.T, r release, more []string, auth string, values ...string) *authServer {
	t.Helper()
	dir := t.TempDir()
	file, env := generateAuth(t, r, string(framework.ReadFile(t, "testdata/files-base.yaml")), dir, auth, values...)
	s := &authServer{}
	s.url, s.log = bootRelease(t, r, file, append(slices.Clip(more), env...)...)
	return s
}

// generateAuth writes the configuration of a spec.auth over a base, for a server on loopback that keeps its files in
// dir. It returns the file and the server's environment.
func generateAuth(t *testing.T, r release, text, dir, auth string, values ...string) (file string, env []string) {
	t.Helper()
	line := lineOf(t, r)
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	framework.NoError(t, yaml.UnmarshalStrict([]byte("distribution: {name: starter}\nauth:\n"+auth), spec))
	for _, store := range []string{"prompts", "connectors"} { // they moved to tables with release line 1.0
		if line.Stores[store].Kind == catalog.SQL {
			text = strings.Replace(text, "{backend: kv_default, namespace: "+store+"}", "{backend: sql_default, table_name: "+store+"}", 1)
		}
	}
	base, err := serverconfig.ParseBase("auth", []byte(text))
	framework.NoError(t, err)
	result, problems := serverconfig.Generate(t.Context(), serverconfig.Input{Name: "s", Namespace: "ns", Spec: parse.Parse(spec), Base: base, Line: line})
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	generated := filepath.Join(dir, "generated.yaml")
	framework.WriteFile(t, generated, string(result.YAML))
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SQLITE_STORE_DIR=" + dir}
	if len(result.Env) != len(values) {
		t.Fatalf("%d values for %d variables", len(values), len(result.Env))
	}
	for i, v := range result.Env {
		env = append(env, v.Name+"="+canaries.Add(values[i]))
	}
	return onLoopback(t, generated, dir), env
}

func withWorkers(t *testing.T, file string, workers int32) string {
	t.Helper()
	line := lineOf(t, imageRelease(t))
	copied, err := serverconfig.WithWorkers(t.Context(), framework.ReadFile(t, file), line, workers, "# A copy.\n")
	framework.NoError(t, err)
	name := filepath.Join(t.TempDir(), "copy.yaml")
	framework.WriteFile(t, name, string(copied))
	return name
}

type header struct{ name, value string }

func bearer(token string) header { return header{"Authorization", "Bearer " + token} }

func (s *authServer) get(t *testing.T, path string, headers ...header) int {
	t.Helper()
	status, _ := s.do(t, http.MethodGet, path, "", headers...)
	return status
}

func (s *authServer) do(t *testing.T, method, path, body string, headers ...header) (int, []byte) {
	t.Helper()
	var list []string
	for _, h := range headers {
		list = append(list, h.name, h.value)
	}
	status, answer, err := framework.Send(t.Context(), client, method, s.url+path, body, list...)
	framework.NoError(t, err)
	return status, answer
}

// wantStatus checks the status of /v1/providers.
func (s *authServer) wantStatus(t *testing.T, want int, who string, headers ...header) {
	t.Helper()
	if got := s.get(t, "/v1/providers", headers...); got != want {
		t.Errorf("%s: status %d, want %d\n%s", who, got, want, tail(s.log()))
	}
}

// wantProbes checks that the kubelet and the operator can probe the server without credentials.
func (s *authServer) wantProbes(t *testing.T, r release) {
	t.Helper()
	for _, path := range []string{"/v1/health", "/v1/version"} {
		if got := s.get(t, path); got != http.StatusOK {
			t.Errorf("%s without credentials: status %d", path, got)
		}
	}
	seen, err := serverprobe.New().Probe(t.Context(), serverprobe.Server{URL: s.url})
	if err != nil || !seen.ProvidersHidden || !seen.Models.Hidden || seen.Version != r.version {
		t.Errorf("the operator sees %+v, %v; want version %s with hidden providers and models", seen, err, r.version)
	}
}

// oldestAndNewest returns the newest releases of the first and the last release line with a feature.
func oldestAndNewest(t *testing.T, has func(*catalog.Line) bool) []release {
	t.Helper()
	var with []release
	for _, r := range releases(t) {
		if r.newest && has(lineOf(t, r)) {
			with = append(with, r)
		}
	}
	if len(with) < 2 {
		t.Fatalf("%d releases have it", len(with))
	}
	return []release{with[0], with[len(with)-1]}
}

func withType(name string) func(*catalog.Line) bool {
	return func(line *catalog.Line) bool { _, ok := line.AuthType(name); return ok }
}

// forOldestAndNewest runs a test with both releases in parallel.
func forOldestAndNewest(t *testing.T, has func(*catalog.Line) bool, test func(*testing.T, release)) {
	t.Helper()
	for _, r := range oldestAndNewest(t, has) {
		t.Run(r.version, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

// hasTenants reports whether a release line separates tenants.
func hasTenants(line *catalog.Line) bool { return line.ServerFields()["tenancy"].Object != "" }

// tenantsBy returns the setting that names the tenant, and the tenancy section of spec.auth. Both are empty if the
// release line has no tenants.
func tenantsBy(line *catalog.Line, setting string) (inSettings, section string) {
	if !hasTenants(line) {
		return "", ""
	}
	return ", " + setting, "\n  tenancy: {mode: multi}"
}

// The keys are at the address in the issuer's discovery document, as docs/auth.md describes. The server trusts the
// issuer's certificate only through settings.tls_cafile.
//
// Proves: R83, R29 (real keys; a new key needs no restart; no leeway for clocks; probes need no token).
func TestServerAcceptsTokensOfIssuer(t *testing.T) {
	t.Parallel()
	forOldestAndNewest(t, withType("oauth2"), func(t *testing.T, r release) {
		from := newIssuer(t)
		s := bootAuth(t, r, fmt.Sprintf(`
  provider: oauth2
  settings: {issuer: %q, audience: %s, tls_cafile: %q, jwks: {uri: %q}}
  routePolicy: %s`, from.url, authAudience, from.caFile, from.discovered(t), routePolicyOf(lineOf(t, r))))
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "no token at all", bearer("nonsense"))
		s.wantStatus(t, http.StatusUnauthorized, "an expired token", bearer(from.token(t, map[string]any{"exp": time.Now().Add(-time.Second).Unix()})))
		s.wantStatus(t, http.StatusUnauthorized, "a token of tomorrow", bearer(from.token(t, map[string]any{"nbf": time.Now().Add(24 * time.Hour).Unix()})))
		s.wantStatus(t, http.StatusUnauthorized, "a token for someone else", bearer(from.token(t, map[string]any{"aud": "other"})))
		s.wantStatus(t, http.StatusUnauthorized, "a token of another issuer", bearer(from.token(t, map[string]any{"iss": "https://other.example"})))
		s.wantStatus(t, http.StatusUnauthorized, "a token of an unpublished key", bearer(from.tokenBy(t, signingKey{"first", rsaKey(t)}, nil)))
		s.wantStatus(t, http.StatusOK, "a good token", bearer(from.token(t, nil)))
		former := from.token(t, nil)
		from.add(t, "second", ecKey(t))
		// The client library refreshes its keys at most every 30 s.
		framework.Eventually(t, 2*time.Minute, "a token of the new key is good", func() error {
			if status := s.get(t, "/v1/providers", bearer(from.token(t, nil))); status != http.StatusOK {
				return fmt.Errorf("status %d", status)
			}
			return nil
		})
		s.wantStatus(t, http.StatusOK, "a token of the former key, which is published still", bearer(former))
		if strings.Contains(s.log(), former) {
			t.Error("the log has a token")
		}
	})
}

// routePolicyOf returns a route policy that does not permit the probes' paths, or an empty list if the release line has
// no route policies.
func routePolicyOf(line *catalog.Line) string {
	if _, ok := line.AuthFields()["route_policy"]; !ok {
		return "[]"
	}
	return `[{permit: {paths: ["/v1/providers", "/v1/files*"]}}]`
}

// The server trusts the endpoint's CA through the bundle of spec.networking.tls.
//
// Proves: R83, R7, R66 (the client secret reaches the endpoint, but not the log).
func TestServerCallsIntrospectionEndpoint(t *testing.T) {
	t.Parallel()
	const secret = "canary-client-secret"
	ca, other := framework.NewCA(t), framework.NewCA(t)
	endpoint := "https://" + serveTLS(t, ca, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, password, _ := r.BasicAuth()
		if id != authAudience || password != secret {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		respond(w, http.StatusOK, map[string]any{"active": r.FormValue("token") == "good", "sub": "alice", "username": "alice"})
	}))
	forOldestAndNewest(t, withType("oauth2"), func(t *testing.T, r release) {
		s := bootAuthWith(t, r, trustedBy(t, r, other.PEM, ca.PEM), fmt.Sprintf(`
  provider: oauth2
  settings: {introspection: {url: %q, client_id: %s}}
  secretRefs: {introspection.client_secret: {name: a, key: b}}`, endpoint, authAudience), secret)
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "an inactive token", bearer("bad"))
		// /v1/providers fails on release line 0.3, which redacts send_secret_in_body and then reads it as a boolean.
		if status := s.get(t, "/v1/files", bearer("good")); status != http.StatusOK {
			t.Errorf("an active token: status %d\n%s", status, tail(s.log()))
		}
		if strings.Contains(s.log(), secret) {
			t.Error("the log has the client secret")
		}
	})
}

// Proves: R83.
func TestServerCallsGitHub(t *testing.T) {
	t.Parallel()
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/orgs"):
			respond(w, http.StatusOK, []map[string]any{{"login": "team"}})
		default:
			respond(w, http.StatusOK, map[string]any{"login": "alice", "id": 1})
		}
	}))
	t.Cleanup(github.Close)
	forOldestAndNewest(t, withType("github"), func(t *testing.T, r release) {
		s := bootAuth(t, r, fmt.Sprintf("\n  provider: github\n  settings: {github_api_base_url: %q}", github.URL))
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "a token that GitHub does not know", bearer("bad"))
		s.wantStatus(t, http.StatusOK, "a token of GitHub", bearer("good"))
	})
}

// customEndpoint starts an authentication endpoint that accepts tokens "<user>@<tenant>".
func customEndpoint(t *testing.T) string {
	t.Helper()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			APIKey string `json:"api_key"`
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		user, tenant, ok := strings.Cut(asked.APIKey, "@")
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		respond(w, http.StatusOK, map[string]any{
			"principal": user, "tenant": tenant,
			"attributes": map[string]any{"roles": []string{"r"}, "teams": []string{"t"}, "projects": []string{"p"}, "namespaces": []string{"n"}},
		})
	}))
	t.Cleanup(endpoint.Close)
	return endpoint.URL
}

// Proves: R83.
func TestServerCallsCustomAuthEndpoint(t *testing.T) {
	t.Parallel()
	endpoint := customEndpoint(t)
	forOldestAndNewest(t, withType("custom"), func(t *testing.T, r release) {
		line := lineOf(t, r)
		tenant, tenancy := tenantsBy(line, "tenant_field: tenant")
		s := bootAuth(t, r, fmt.Sprintf("\n  provider: custom\n  settings: {endpoint: %q%s}%s", endpoint, tenant, tenancy))
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "a bad token", bearer("bad"))
		s.wantStatus(t, http.StatusOK, "a good token", bearer("alice@a"))
		if hasTenants(line) {
			s.wantStatus(t, http.StatusUnauthorized, "a user of no tenant", bearer("alice@"))
		}
	})
}

// Proves: R83, R8 (each key works, and the log has none).
func TestServerAcceptsAPIKeys(t *testing.T) {
	t.Parallel()
	keys := []string{"canary-key-a", "canary-key-b"}
	forOldestAndNewest(t, withType("api-key"), func(t *testing.T, r release) {
		s := bootAuth(t, r, `
  provider: api-key
  secretRefs: {api_keys.a: {name: s, key: a}, api_keys.b: {name: s, key: b}}`, keys...)
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "a wrong key", bearer("canary-key"))
		for _, key := range keys {
			s.wantStatus(t, http.StatusOK, key, bearer(key))
			if strings.Contains(s.log(), key) {
				t.Error("the log has a key")
			}
		}
	})
}

// proxyAddress is the source address of the tests' proxy.
const proxyAddress = "127.0.0.2"

// newProxy starts a reverse proxy that authenticates users by their passwords, "<password>@<tenant>". It sets the
// identity headers itself, whatever the caller sends, and adds X-Forwarded headers.
func newProxy(t *testing.T, server, password string) string {
	t.Helper()
	to, err := url.Parse(server)
	framework.NoError(t, err)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(proxyAddress)}}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: dialer.DialContext},
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.SetXForwarded()
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("X-Auth-User")
			p.Out.Header.Del("X-Auth-Tenant")
			user, given, _ := p.In.BasicAuth()
			if secret, tenant, _ := strings.Cut(given, "@"); secret == password {
				p.Out.Header.Set("X-Auth-User", user)
				p.Out.Header.Set("X-Auth-Tenant", tenant)
			}
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func basic(user, password string) header {
	return header{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// Proves: R83 (the server trusts identity headers only from the configured networks).
func TestServerTrustsItsProxy(t *testing.T) {
	t.Parallel()
	forOldestAndNewest(t, withType("upstream-header"), func(t *testing.T, r release) {
		line := lineOf(t, r)
		row, _ := line.AuthType("upstream-header")
		tenant, tenancy := tenantsBy(line, "tenant_header: x-auth-tenant")
		if len(row.Networks) > 0 {
			tenant += ", trusted_proxy_cidrs: [" + proxyAddress + "/32]"
		}
		s := bootAuth(t, r, "\n  provider: upstream-header\n  settings: {principal_header: x-auth-user"+tenant+"}"+tenancy)
		s.wantProbes(t, r)
		alice := []header{{"X-Auth-User", "alice"}, {"X-Auth-Tenant", "a"}}
		if len(row.Networks) > 0 {
			s.wantStatus(t, http.StatusForbidden, "someone who claims to be the proxy", alice...)
		}
		s.url = newProxy(t, s.url, "secret")
		s.wantProbes(t, r)
		s.wantStatus(t, http.StatusUnauthorized, "no credentials")
		s.wantStatus(t, http.StatusUnauthorized, "someone who claims to be a user", alice...)
		s.wantStatus(t, http.StatusUnauthorized, "a user with a wrong password", basic("alice", "wrong@a"))
		s.wantStatus(t, http.StatusOK, "a user of the proxy", basic("alice", "secret@a"))
		if hasTenants(line) {
			s.wantStatus(t, http.StatusUnauthorized, "a user of no tenant", basic("alice", "secret@"))
		}
	})
}

func (s *authServer) upload(t *testing.T, headers ...header) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	framework.NoError(t, form.WriteField("purpose", "assistants"))
	part, err := form.CreateFormFile("file", "a.txt")
	framework.NoError(t, err)
	if _, err := io.WriteString(part, "text"); err != nil {
		t.Fatal(err)
	}
	framework.NoError(t, form.Close())
	status, answer := s.do(t, http.MethodPost, "/v1/files", body.String(), append(headers, header{"Content-Type", form.FormDataContentType()})...)
	var file struct{ ID string }
	if err := json.Unmarshal(answer, &file); err != nil || status != http.StatusOK || file.ID == "" {
		t.Fatalf("status %d, %v: %s\n%s", status, err, answer, tail(s.log()))
	}
	return file.ID
}

// Proves: R83 (access policies for files, and route policies for paths).
func TestServerObeysPolicies(t *testing.T) {
	t.Parallel()
	endpoint := customEndpoint(t)
	forOldestAndNewest(t, func(line *catalog.Line) bool { _, ok := line.AuthFields()["route_policy"]; return ok }, func(t *testing.T, r release) {
		s := bootAuth(t, r, fmt.Sprintf(`
  provider: custom
  settings: {endpoint: %q}
  accessPolicy:
  - permit: {actions: [create, read, update, delete]}
    when: user is owner
  routePolicy:
  - forbid: {paths: /v1/providers}
    unless: user with r in roles
  - permit: {paths: ["/v1/files*", /v1/providers]}`, endpoint))
		for _, path := range []string{"/v1/health", "/v1/version"} {
			if got := s.get(t, path); got != http.StatusOK {
				t.Errorf("%s: status %d", path, got)
			}
		}
		s.wantStatus(t, http.StatusOK, "a user of the role", bearer("alice@a"))
		if got := s.get(t, "/v1/inspect/routes", bearer("alice@a")); got != http.StatusForbidden {
			t.Errorf("a path without a rule: status %d", got)
		}
		file := "/v1/files/" + s.upload(t, bearer("alice@a"))
		if got := s.get(t, file, bearer("alice@a")); got != http.StatusOK {
			t.Errorf("the owner gets status %d", got)
		}
		if got := s.get(t, file, bearer("bob@a")); got == http.StatusOK {
			t.Error("another user sees the file, which only its owner may")
		}
	})
}

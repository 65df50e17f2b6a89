// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// smallBase boots with every release, without external services.
const smallBase = `version: 2
image_name: small
apis: [inference]
providers: {inference: []}
storage:
  backends:
    kv_default: {type: kv_sqlite, db_path: "${env.SQLITE_STORE_DIR}/kv.db"}
    sql_default: {type: sql_sqlite, db_path: "${env.SQLITE_STORE_DIR}/sql.db"}
  stores:
    metadata: {backend: kv_default, namespace: registry}
    inference: {backend: sql_default, table_name: inference_store}
    conversations: {backend: sql_default, table_name: conversations}
server: {host: 127.0.0.1, port: 8321}
`

// trustedBy returns the environment of a server that trusts imageRoot, as a root of its image, and a CA bundle. It runs
// the command of the pod's init container.
func trustedBy(t *testing.T, r release, imageRoot, bundle []byte) []string {
	t.Helper()
	dir, python := t.TempDir(), serverPython(t, r)
	packages := filepath.Join(dir, "packages")
	framework.Output(t, scriptTimeout, nil, python, "-c", "import certifi, os, shutil, sys; shutil.copytree(os.path.dirname(certifi.__file__), sys.argv[1])", filepath.Join(packages, "certifi"))
	roots, err := os.OpenFile(filepath.Join(packages, "certifi", "cacert.pem"), os.O_APPEND|os.O_WRONLY, 0)
	framework.NoError(t, err)
	if _, err := roots.Write(append([]byte("\n"), imageRoot...)); err != nil {
		t.Fatal(err)
	}
	framework.NoError(t, roots.Close())
	given, file := filepath.Join(dir, "ca-bundle.crt"), filepath.Join(dir, "ca-certificates.crt")
	framework.WriteFile(t, given, string(bundle))
	env := []string{"PYTHONPATH=" + packages, "PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	pod := objects.Deployment(&objects.Params{CR: &v1alpha2.LlamaStackDistribution{}, CABundle: string(bundle)}).Spec.Template.Spec
	command := slices.Clone(pod.InitContainers[0].Command)
	command[0] = python
	for i := range command {
		switch command[i] {
		case names.CABundlePath:
			command[i] = given
		case objects.TrustPath:
			command[i] = file
		}
	}
	t.Log(framework.Output(t, scriptTimeout, env, command[0], command[1:]...))
	for _, v := range pod.Containers[0].Env {
		if v.Value == objects.TrustPath {
			env = append(env, v.Name+"="+file)
		}
	}
	return env
}

// serveTLS serves HTTP/1.1 and HTTP/2 with a certificate of the CA, and returns HOST:PORT.
func serveTLS(t *testing.T, ca *framework.CA, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(ca.ServerSecret([]string{"localhost"}))}, MinVersion: tls.VersionTLS12}
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return "localhost:" + server.URL[strings.LastIndex(server.URL, ":")+1:]
}

// Each client library of each release trusts the CA of the bundle and a root of the image, and refuses any other CA.
// Two providers of a real server with spec.networking.tls also use both CAs.
//
// Proves: FR-061, FR-062, FR-063, R26, R66, R40, L-23.
func TestCABundleAddsToTheRootsOfTheImage(t *testing.T) {
	t.Parallel()
	private, image, unknown := framework.NewCA(t), framework.NewCA(t), framework.NewCA(t)
	forEachRelease(t, func(t *testing.T, r release) {
		env := trustedBy(t, r, image.PEM, private.PEM)
		empty := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		})
		want := map[string]string{"private": "trusted", "image": "trusted", "unknown": "refused"}
		servers := []string{"clients.py"}
		for name, ca := range map[string]*framework.CA{"private": private, "image": image, "unknown": unknown} {
			servers = append(servers, name+"="+serveTLS(t, ca, empty))
		}
		var got map[string]map[string]string
		framework.NoError(t, json.Unmarshal([]byte(framework.Output(t, scriptTimeout, env, serverPython(t, r), servers...)), &got))
		for _, library := range []string{"urllib", "httpx", "requests", "openai"} {
			if got[library] == nil {
				t.Errorf("%s is not installed", library)
			}
		}
		for library, outcomes := range got {
			for server, outcome := range outcomes {
				if outcome != want[server] {
					t.Errorf("%s, server of the CA %s: %s, want %s", library, server, outcome, want[server])
				}
			}
		}
		t.Logf("client libraries: %d", len(got))
		bothProvidersAnswer(t, r, env, map[string]*framework.CA{"private": private, "image": image})
	})
}

// bothProvidersAnswer boots a server with TLS and a provider behind each CA, and chats with both.
func bothProvidersAnswer(t *testing.T, r release, env []string, behind map[string]*framework.CA) {
	t.Helper()
	const key = "a-key"
	var providers []any
	for id, ca := range behind {
		double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"model-of-" + id}, Key: key})
		framework.NoError(t, err)
		// Release line 1.0 reuses a connection of its ended startup event loop, and the first completion fails.
		closing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			double.ServeHTTP(w, r)
		})
		providers = append(providers, map[string]any{
			"id": id, "provider": "vllm", "endpoint": "https://" + serveTLS(t, ca, closing), "settings": map[string]any{"api_token": key},
		})
	}
	ca := framework.NewCA(t)
	by := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: ca.Trust("localhost")}}
	url, printed := bootWithTLS(t, r, ca, by, providers, env)
	defer func() {
		if t.Failed() {
			t.Log(printed())
		}
	}()
	for id := range behind {
		status, answer := postBy(t, by, url+"/v1/chat/completions",
			fmt.Sprintf(`{"model":"%s/model-of-%s","messages":[{"role":"user","content":"ping"}]}`, id, id))
		if want := modelserverdouble.Answer("model-of-"+id, "ping"); status != http.StatusOK || !strings.Contains(string(answer), want) {
			t.Errorf("provider %s: status %d, %s", id, status, answer)
		}
	}
	checkHandshakes(t, r, ca, strings.TrimPrefix(url, "https://"))
}

// bootWithTLS boots smallBase with networking.tls and the providers. Only the certificate directory differs from a pod.
func bootWithTLS(t *testing.T, r release, ca *framework.CA, by *http.Client, providers []any, env []string) (url string, printed func() string) {
	t.Helper()
	dir := t.TempDir()
	base, err := serverconfig.ParseBase("small", []byte(smallBase))
	framework.NoError(t, err)
	inference, err := json.Marshal(providers)
	framework.NoError(t, err)
	spec := &v1alpha2.LlamaStackDistributionSpec{
		Providers:  &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: inference}},
		Networking: &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{Enabled: new(true), SecretName: new("s")}},
	}
	result, problems := serverconfig.Generate(t.Context(), serverconfig.Input{Name: "s", Namespace: "ai", Spec: parse.Parse(spec), Base: base, Line: lineOf(t, r)})
	if problems.HasErrors() {
		t.Fatal(problems.Message())
	}
	for name, content := range ca.ServerSecret([]string{"localhost"}) {
		framework.WriteFile(t, filepath.Join(dir, name), string(content))
	}
	file := filepath.Join(dir, "config.yaml")
	framework.WriteFile(t, file, strings.ReplaceAll(string(result.YAML), serverconfig.TLSDir, dir))
	for _, v := range result.Env {
		if v.Ref.Name == "" {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	return bootAt(t, "https://localhost", by, r, file, append(env, "SQLITE_STORE_DIR="+dir)...)
}

// checkHandshakes checks the TLS versions and cipher suites that docs/networking.md describes.
func checkHandshakes(t *testing.T, r release, ca *framework.CA, address string) {
	t.Helper()
	accepts := func(version, suite uint16) bool {
		trust := ca.Trust("localhost")
		trust.MinVersion, trust.MaxVersion = version, version
		if suite != 0 {
			trust.CipherSuites = []uint16{suite}
		}
		conn, err := (&tls.Dialer{Config: trust}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}
	for version, want := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		if got := accepts(version, 0); got != want {
			t.Errorf("%s is accepted: %v", tls.VersionName(version), got)
		}
	}
	var suites []string
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) && accepts(tls.VersionTLS12, suite.ID) {
			suites = append(suites, suite.Name)
		}
	}
	slices.Sort(suites)
	t.Logf("TLS 1.2 with %s", strings.Join(suites, ", "))
	// Before release line 1.2, uvicorn chooses the suites: those of TLS 1.0, or in its newer releases those of OpenSSL.
	want := []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"}
	if lineOf(t, r).NeedsInsecure && !slices.Equal(suites, want) {
		t.Errorf("TLS 1.2 with %v, want %v", suites, want)
	}
}

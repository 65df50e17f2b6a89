// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// pythonTimeout bounds creating the Python environment, which is quick if it is in the cache.
const pythonTimeout = 15 * time.Minute

// callersNeedAToken applies the sample with authentication, and sends requests with tokens of this cluster.
//
// Proves: FR-009, FR-064, R83, R29, R61 (on a node: the server verifies a token of the cluster with its API server;
// without a token only the probes get an answer; Ready stays True; the Python client openai reaches the server over TLS
// at the host name of its Ingress).
func callersNeedAToken(t *testing.T) {
	s := protectedStack(t)
	app, gone := s.token(t, "default"), s.token(t, "gone")
	s.in(t).Kubectl("delete", "serviceaccount", "gone")
	for who, c := range map[string]struct {
		by   *http.Client
		want int
	}{
		"no credentials":                          {web, http.StatusUnauthorized},
		"a wrong token":                           {withToken(app + "x").client(), http.StatusUnauthorized},
		"a token for another audience":            {withToken(s.token(t, "default", "--audience=other")).client(), http.StatusUnauthorized},
		"an expired token":                        {signedAgain(t, app, -time.Minute).client(), http.StatusUnauthorized},
		"a token signed by the test, for an hour": {signedAgain(t, app, time.Hour).client(), http.StatusOK},
		"a token of the cluster":                  {withToken(app).client(), http.StatusOK},
	} {
		status, answer := s.chatBy(t, c.by, s.url(t))
		right := strings.Contains(answer, modelserverdouble.Answer(sampleModel, question))
		if status != c.want || right != (c.want == http.StatusOK) {
			t.Errorf("%s: status %d, want %d: %s", who, status, c.want, answer)
		}
	}
	// The API server caches tokens for a while
	framework.Eventually(t, soon, "a token of a ServiceAccount that is gone is refused", func() error {
		if status, answer := s.chatBy(t, withToken(gone).client(), s.url(t)); status != http.StatusUnauthorized {
			return fmt.Errorf("status %d: %s", status, answer)
		}
		return nil
	})
	for _, leak := range canaries.Find(s.in(t).Kubectl("logs", s.pod(t).Name)) {
		t.Errorf("the log of the server contains %s", leak)
	}
	did(t, "config/samples/v1alpha2-auth.yaml is applied unchanged: a chat completion with a token of the cluster; none without, or with one that is wrong, expired, of "+
		"another audience, or of a ServiceAccount that is gone")

	s.clientCallsWithAToken(t, app)
	did(t, "exposed, it answers the Python client openai over TLS at the host name of its Ingress, with a token, and nobody without")
	s.in(t).Kubectl("delete", "llsd", s.name)
}

// clientCallsWithAToken exposes the stack, and calls the server through its Ingress as a user's program does.
func (s stack) clientCallsWithAToken(t *testing.T, token string) {
	t.Helper()
	ca := framework.NewCA(t)
	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":{"expose":true}}}`)
	s.in(t).PutTLSSecret(&canaries, s.name+edgeSuffix, ca.ServerSecret([]string{s.exposedHost()}))
	proxy, url := s.startContour(t, ca), "https://"+s.exposedHost()
	s.hasURL(t, url)
	s.answersAt(t, proxy.clientOf(ca, s.exposedHost()), url, http.StatusOK) // the health endpoint needs no token
	if status, answer := s.chatBy(t, proxy.clientOf(ca, s.exposedHost()), url); status != http.StatusUnauthorized {
		t.Errorf("without a token: status %d: %s", status, answer)
	}
	authority := filepath.Join(t.TempDir(), "ca.crt")
	framework.WriteFile(t, authority, ca.PEM)
	for name, c := range map[string]struct{ token, authority, want string }{
		"with a token":     {token, authority, modelserverdouble.Answer(sampleModel, question)},
		"with a wrong one": {"none", authority, "status 401"},
		"without the CA":   {token, "", "no connection"},
	} {
		if got := askByOpenAI(t, proxy, url, c.token, c.authority); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// protectedStack applies the sample with authentication, and waits until it is Ready and its Service is reachable.
func protectedStack(t *testing.T) stack {
	t.Helper()
	s := stack{"e2e-auth", "auth-stack"}
	namespace(t, s.namespace)
	s.startModelServer(t, sampleServer, sampleModel, keyOfBase)
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-auth.yaml"))
	s.waitTaken(t)
	s.in(t).Within(serverStart).WaitCondition(s.name, v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonReady)
	s.answersAt(t, web, s.url(t), http.StatusOK)
	return s
}

// token returns a token of a ServiceAccount, which it creates if needed, and records the token as a canary.
func (s stack) token(t *testing.T, account string, args ...string) string {
	t.Helper()
	if account != "default" {
		s.in(t).Kubectl("create", "serviceaccount", account)
	}
	return canaries.Add(strings.TrimSpace(s.in(t).Kubectl(append([]string{"create", "token", account}, args...)...)))
}

// chatBy sends a chat completion to the sample's model, by a client at a URL.
func (s stack) chatBy(t *testing.T, by *http.Client, url string) (status int, answer string) {
	t.Helper()
	status, body, err := tryCallBy(t, by, http.MethodPost, url+"/v1/chat/completions", map[string]any{
		"model": sampleServer + "/" + sampleModel, "messages": []any{map[string]any{"role": "user", "content": question}},
	})
	framework.NoError(t, err)
	return status, string(body)
}

type withToken string

func (token withToken) client() *http.Client {
	return &http.Client{Timeout: web.Timeout, Transport: token}
}

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Header.Set("Authorization", "Bearer "+string(token))
	return web.Transport.RoundTrip(sent)
}

// signedAgain returns a token of this cluster with another expiry, signed with the key of its API server.
func signedAgain(t *testing.T, token string, expires time.Duration) withToken {
	t.Helper()
	text := framework.ReadFile(t, filepath.Join(cluster.Dir, "pki", "service-account.key"))
	block, _ := pem.Decode(text)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	framework.NoError(t, err)
	parts, claims := strings.Split(token, "."), map[string]any{}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &claims)
	}
	framework.NoError(t, err)
	now := time.Now()
	for claim, at := range map[string]time.Time{"exp": now.Add(expires), "iat": now.Add(-time.Hour), "nbf": now.Add(-time.Hour)} {
		claims[claim] = at.Unix()
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(asJSON(t, claims)))
	digest := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, key, digest[:])
	framework.NoError(t, err)
	signature := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	return withToken(canaries.Add(signed + "." + base64.RawURLEncoding.EncodeToString(signature)))
}

// askByOpenAI sends a chat completion to a URL by the Python client openai, and returns the reply or the error.
// authority is a file with the only CA that the client trusts; if it is empty, the client trusts its default CAs.
func askByOpenAI(t *testing.T, proxy *contour, url, token, authority string) string {
	t.Helper()
	python := framework.Output(t, pythonTimeout, nil, filepath.Join(framework.Root(), "tests", "server", "venv.sh"), newest.line)
	env := []string{"PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=" + token, "PROXY_PORT=" + strconv.Itoa(proxy.proxy)}
	if authority != "" {
		env = append(env, "SSL_CERT_FILE="+authority)
	}
	return framework.Output(t, pythonTimeout, env, python, "testdata/ask.py", url, sampleServer+"/"+sampleModel, question)
}

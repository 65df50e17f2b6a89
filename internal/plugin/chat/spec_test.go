// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// A server lists the models of its providers too, often before those of the spec.
func TestChatAsksTheFirstModelOfTheSpec(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"data": [{"id": "openai/gpt", "custom_metadata": {"model_type": "llm"}}, {"id": "openai/llama3", "custom_metadata": {"model_type": "llm"}},
			{"id": "vllm/e5", "custom_metadata": {"model_type": "embedding"}}, {"id": "vllm/llama3", "custom_metadata": {"model_type": "llm"}},
			{"id": "vllm/served", "custom_metadata": {"model_type": "llm"}}, {"id": "bare", "custom_metadata": {"model_type": "llm"}}]}`)
	})
	mux.Handle("POST /v1/chat/completions", answers(t))
	const providers = "{providers: {inference: [{id: vllm, provider: vllm}, {id: openai, provider: 'remote::openai'}]}, resources: {models: "
	for want, models := range map[string]string{
		"vllm/llama3":   "[{name: e5, modelType: embedding, embeddingDimension: 8}, llama3, gpt]",
		"vllm/served":   "[{name: alias, providerModelId: served}]",
		"openai/llama3": "[not-listed, {name: llama3, provider: openai}]",
		"bare":          "[bare]",
		"openai/gpt":    "[not-listed]",
	} {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.Unmarshal([]byte(providers+models+"}}"), &cr.Spec); err != nil {
			t.Fatal(err)
		}
		if text, code := runIn(t, mux, "http", 1, cr, nil, "my-stack", "hello"); code != cli.ExitOK || text != want+" heard: hello\n" {
			t.Errorf("%s: exit code %d: %s", models, code, text)
		}
	}
}

const token = "tok.e-n/1=="

// authenticated answers callers with the token only, and repeats what others sent.
func authenticated(t *testing.T) http.Handler {
	t.Helper()
	next := answers(t)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch sent := r.Header.Get("Authorization"); sent {
		case "Bearer " + token:
			next.ServeHTTP(w, r)
		case "":
			http.Error(w, `{"error": {"message": "Authentication required. Please provide a valid Bearer token"}}`, http.StatusUnauthorized)
		default:
			http.Error(w, "Authentication failed for "+sent, http.StatusUnauthorized)
		}
	})
}

// Proves: NFR-003 (a token that the server repeats is not printed).
func TestChatSendsTheToken(t *testing.T) {
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "keys"}, Data: map[string][]byte{
		"token": []byte(token + "\n"), "other": []byte("other-token"), "broken": []byte("two words"), "empty": nil,
	}}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"a flag":            {[]string{"--token", token}, cli.ExitOK, "vllm/m1 heard: hello"},
		"a Secret":          {[]string{"--token-from", "keys/token"}, cli.ExitOK, "vllm/m1 heard: hello"},
		"no token":          {nil, cli.ExitFailure, "the server requires a token: send one with --token-from SECRET/KEY"},
		"another token":     {[]string{"--token-from", "keys/other"}, cli.ExitFailure, "Authentication failed for Bearer [redacted]"},
		"another flag":      {[]string{"--token", "other-token"}, cli.ExitFailure, "Authentication failed for Bearer [redacted]"},
		"two of them":       {[]string{"--token", token, "--token-from", "keys/token"}, cli.ExitUsage, "--token and --token-from are mutually exclusive"},
		"no key":            {[]string{"--token-from", "keys"}, cli.ExitUsage, `--token-from "keys": write SECRET/KEY`},
		"an empty name":     {[]string{"--token-from", "keys/"}, cli.ExitUsage, `--token-from "keys/": write SECRET/KEY`},
		"an unknown key":    {[]string{"--token-from", "keys/tokens"}, cli.ExitFailure, `the Secret keys in namespace ai has no key "tokens": it has broken, empty, other, token`},
		"an empty value":    {[]string{"--token-from", "keys/empty"}, cli.ExitFailure, "key empty of Secret keys: is not a bearer token"},
		"a broken value":    {[]string{"--token-from", "keys/broken"}, cli.ExitFailure, "key broken of Secret keys: is not a bearer token"},
		"a broken flag":     {[]string{"--token", "two words"}, cli.ExitFailure, "--token: is not a bearer token"},
		"an unknown Secret": {[]string{"--token-from", "nobody/token"}, cli.ExitFailure, `there is no Secret "nobody" in namespace ai`},
	} {
		text, code := runIn(t, authenticated(t), "http", 1, &v1alpha2.LlamaStackDistribution{}, []client.Object{keys}, append([]string{"my-stack", "hello"}, c.args...)...)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit code %d: %s\nwant %s", name, code, text, c.want)
		}
		for _, value := range []string{token, "other-token", "two words"} {
			if strings.Contains(text, value) {
				t.Errorf("%s: the token is printed: %s", name, text)
			}
		}
	}
}

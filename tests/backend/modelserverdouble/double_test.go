// SPDX-License-Identifier: Apache-2.0

package modelserverdouble_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const key = "canary-key"

func serve(t *testing.T) string {
	t.Helper()
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"a", "b"}, Key: key})
	framework.NoError(t, err)
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	return server.URL
}

// call returns the status and the body of a response. An empty bearer sends no Authorization header.
func call(t *testing.T, method, url, bearer, body string) (int, string) {
	t.Helper()
	var header []string
	if bearer != "" {
		header = []string{"Authorization", "Bearer " + bearer}
	}
	status, answer, err := framework.Send(t.Context(), http.DefaultClient, method, url, body, header...)
	framework.NoError(t, err)
	return status, string(answer)
}

func TestInvalidOrMissingKeyIsRejectedWithOpenAIError(t *testing.T) {
	url := serve(t)
	for _, bearer := range []string{"", "wrong", key + "x"} {
		status, body := call(t, http.MethodGet, url+"/v1/models", bearer, "")
		var refusal struct {
			Error struct{ Code, Message string }
		}
		framework.NoError(t, json.Unmarshal([]byte(body), &refusal))
		if status != http.StatusUnauthorized || refusal.Error.Code != "invalid_api_key" || refusal.Error.Message == "" {
			t.Errorf("bearer %q: status %d, body %s", bearer, status, body)
		}
	}
	if status, _ := call(t, http.MethodGet, url+"/health", "", ""); status != http.StatusOK {
		t.Errorf("/health without a key: status %d", status)
	}
}

func TestRequestsAreRememberedWithoutTheKey(t *testing.T) {
	url := serve(t)
	call(t, http.MethodGet, url+"/v1/models", "", "")
	call(t, http.MethodPost, url+"/v1/chat/completions", "other", "{}")
	call(t, http.MethodPost, url+"/v1/chat/completions", key, `{"model":"a","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	_, body := call(t, http.MethodGet, url+"/double/requests", "", "")
	var got struct{ Requests []modelserverdouble.Request }
	framework.NoError(t, json.Unmarshal([]byte(body), &got))
	want := []modelserverdouble.Request{
		{Method: "GET", Path: "/v1/models"},
		{Method: "POST", Path: "/v1/chat/completions", KeyHash: "d9298a10"},
		{Method: "POST", Path: "/v1/chat/completions", Model: "a", Stream: true, KeyMatched: true, KeyHash: "0b8bdfd5"},
	}
	if diff := cmp.Diff(want, got.Requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if strings.Contains(body, key) || strings.Contains(body, "other") {
		t.Errorf("a key is told: %s", body)
	}
	call(t, http.MethodDelete, url+"/double/requests", "", "")
	if _, body := call(t, http.MethodGet, url+"/double/requests", "", ""); strings.TrimSpace(body) != `{"requests":[]}` {
		t.Errorf("after forgetting: %s", body)
	}
}

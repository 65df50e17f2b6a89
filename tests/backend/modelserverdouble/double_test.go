// SPDX-License-Identifier: Apache-2.0

package modelserverdouble_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
)

const key = "canary-key"

func serve(t *testing.T) string {
	t.Helper()
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"a", "b"}, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(double)
	t.Cleanup(server.Close)
	return server.URL
}

// call returns the status and the body of one request; an empty bearer sends no Authorization header.
func call(t *testing.T, method, url, bearer, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

func TestModelsAreListedBehindTheKey(t *testing.T) {
	url := serve(t)
	status, body := call(t, http.MethodGet, url+"/v1/models", key, "")
	var list struct {
		Data []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]struct{ ID string }{{"a"}, {"b"}}, list.Data); status != http.StatusOK || diff != "" {
		t.Errorf("status %d, models (-want +got):\n%s", status, diff)
	}
}

func TestWrongOrMissingKeyIsRefusedInOpenAIsForm(t *testing.T) {
	url := serve(t)
	for _, bearer := range []string{"", "wrong", key + "x"} {
		status, body := call(t, http.MethodGet, url+"/v1/models", bearer, "")
		var refusal struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal([]byte(body), &refusal); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusUnauthorized || refusal.Error.Code != "invalid_api_key" || refusal.Error.Message == "" {
			t.Errorf("bearer %q: status %d, body %s", bearer, status, body)
		}
	}
	if status, _ := call(t, http.MethodGet, url+"/health", "", ""); status != http.StatusOK {
		t.Errorf("/health without a key: status %d", status)
	}
}

func TestAnOpenDoubleNeedsNoKey(t *testing.T) {
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"a"}, Open: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(double)
	defer server.Close()
	for _, bearer := range []string{"", "any"} {
		if status, body := call(t, http.MethodGet, server.URL+"/v1/models", bearer, ""); status != http.StatusOK {
			t.Errorf("bearer %q: status %d, %s", bearer, status, body)
		}
	}
}

func TestChatCompletionRepeatsTheLastMessage(t *testing.T) {
	url := serve(t)
	for name, content := range map[string]string{"text": `"ping pong"`, "parts": `[{"type":"text","text":"ping "},{"type":"text","text":"pong"}]`} {
		status, body := call(t, http.MethodPost, url+"/v1/chat/completions", key,
			`{"model":"b","messages":[{"role":"system","content":"x"},{"role":"user","content":`+content+`}]}`)
		var completion struct {
			Model   string
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(body), &completion); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusOK || completion.Model != "b" || len(completion.Choices) != 1 ||
			completion.Choices[0].Message.Content != "b heard: ping pong" {
			t.Errorf("%s: status %d, body %s", name, status, body)
		}
	}
}

func TestQuestionsCallAToolThatSearches(t *testing.T) {
	url := serve(t)
	for role, want := range map[string]string{"user": `"arguments":"{\"query\":\"ping\"}"`, "tool": "a heard: ping"} {
		for _, stream := range []string{"false", "true"} {
			_, body := call(t, http.MethodPost, url+"/v1/chat/completions", key, `{"model":"a","stream":`+stream+`,"tools":[{"function":{"name":"other"}},{"function":{"name":"file_search"}}],
				"messages":[{"role":"`+role+`","content":"ping"}]}`)
			if stream == "false" && !strings.Contains(body, want) {
				t.Errorf("role %s, stream %s: %s", role, stream, body)
			}
			if called := strings.Contains(body, `"finish_reason":"tool_calls"`); called != (role == "user") {
				t.Errorf("role %s, stream %s: %s", role, stream, body)
			}
		}
	}
}

func TestGuardsJudgeTexts(t *testing.T) {
	for message, want := range map[string]string{"a question": "safe", "something " + modelserverdouble.Harmful: "unsafe\nS1"} {
		if got := modelserverdouble.Answer("llama-guard-3", message); got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
}

func TestEmbeddingsDependOnTheTextAlone(t *testing.T) {
	url := serve(t)
	vectors := func(input string) (list [][]float64) {
		t.Helper()
		status, body := call(t, http.MethodPost, url+"/v1/embeddings", key, `{"model":"b","input":`+input+`}`)
		var answer struct {
			Data []struct{ Embedding []float64 }
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			t.Fatalf("status %d, %v: %s", status, err, body)
		}
		for _, d := range answer.Data {
			list = append(list, d.Embedding)
		}
		return list
	}
	if got := vectors(`["ping","pong",""]`); len(got) != 3 || len(got[2]) != modelserverdouble.EmbeddingDimension || slices.Equal(got[0], got[1]) ||
		!slices.Equal(got[0], vectors(`"ping"`)[0]) {
		t.Errorf("the vectors are %v", got)
	}
	for body, want := range map[string]int{`{"model":"c","input":"x"}`: http.StatusNotFound, `{"model":"b","input":1}`: http.StatusBadRequest} {
		if status, answer := call(t, http.MethodPost, url+"/v1/embeddings", key, body); status != want || !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: status %d, %s", body, status, answer)
		}
	}
}

func TestChatCompletionStreams(t *testing.T) {
	url := serve(t)
	status, body := call(t, http.MethodPost, url+"/v1/chat/completions", key,
		`{"model":"a","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"ping pong"}]}`)
	events := strings.Split(strings.TrimSpace(body), "\n\n")
	if status != http.StatusOK || events[len(events)-1] != "data: [DONE]" {
		t.Fatalf("status %d, last event %q", status, events[len(events)-1])
	}
	var text, finish string
	var total int
	for _, event := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatalf("event %q: %v", event, err)
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			finish += choice.Finish
		}
		total += chunk.Usage.Total
	}
	if text != "a heard: ping pong" || finish != "stop" || total == 0 {
		t.Errorf("text %q, finish %q, usage %d", text, finish, total)
	}
}

func TestBadChatCompletionsAreRefused(t *testing.T) {
	url := serve(t)
	for body, want := range map[string]int{
		`{"model":"gone","messages":[{"role":"user","content":"x"}]}`: http.StatusNotFound,
		`{"model":"a","messages":[]}`:                                 http.StatusBadRequest,
		`{`:                                                           http.StatusBadRequest,
	} {
		if status, answer := call(t, http.MethodPost, url+"/v1/chat/completions", key, body); status != want || !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: status %d, want %d; body %s", body, status, want, answer)
		}
	}
}

func TestRequestsAreRememberedWithoutTheKey(t *testing.T) {
	url := serve(t)
	call(t, http.MethodGet, url+"/v1/models", "", "")
	call(t, http.MethodPost, url+"/v1/chat/completions", "other", "{}")
	call(t, http.MethodPost, url+"/v1/chat/completions", key, `{"model":"a","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	_, body := call(t, http.MethodGet, url+"/double/requests", "", "")
	var got struct{ Requests []modelserverdouble.Request }
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
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

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	for _, config := range []modelserverdouble.Config{
		{Key: key},
		{Models: []string{""}, Key: key},
		{Models: []string{"a"}},
		{Models: []string{"a"}, Key: key, Open: true},
	} {
		if _, err := modelserverdouble.New(config); err == nil {
			t.Errorf("%+v: no error", config.Models)
		}
	}
}

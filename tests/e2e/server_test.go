// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// web calls Services and pods, whose addresses are routed on this machine.
var web = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
}

func call(t *testing.T, method, url string, body any) (int, []byte) {
	t.Helper()
	status, answer, err := tryCall(t, method, url, body)
	framework.NoError(t, err)
	return status, answer
}

// tryCall is call for servers that may be unreachable.
func tryCall(t *testing.T, method, url string, body any) (int, []byte, error) {
	t.Helper()
	return tryCallBy(t, web, method, url, body)
}

func tryCallBy(t *testing.T, by *http.Client, method, url string, body any) (int, []byte, error) {
	t.Helper()
	content := ""
	if body != nil {
		content = asJSON(t, body)
	}
	return framework.Send(t.Context(), by, method, url, content)
}

func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	status, answer := call(t, http.MethodGet, url, nil)
	if status != http.StatusOK {
		t.Fatalf("GET %s: status %d: %s", url, status, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		t.Fatalf("GET %s: %v: %s", url, err, answer)
	}
}

func serviceURL(t *testing.T, namespace, name string) string {
	t.Helper()
	var service corev1.Service
	framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &service))
	return fmt.Sprintf("http://%s:%d", service.Spec.ClusterIP, service.Spec.Ports[0].Port)
}

func (s stack) url(t *testing.T) string {
	t.Helper()
	return serviceURL(t, s.namespace, s.name+"-service")
}

type listedProvider struct {
	API    string         `json:"api"`
	ID     string         `json:"provider_id"`
	Type   string         `json:"provider_type"`
	Config map[string]any `json:"config"`
}

func (s stack) providers(t *testing.T) []listedProvider {
	t.Helper()
	var list struct{ Data []listedProvider }
	getJSON(t, s.url(t)+"/v1/providers", &list)
	return list.Data
}

func (s stack) provider(t *testing.T, api, id string) listedProvider {
	t.Helper()
	all := s.providers(t)
	for _, p := range all {
		if p.API == api && p.ID == id {
			return p
		}
	}
	t.Fatalf("the server does not list %s/%s among its %d providers", api, id, len(all))
	return listedProvider{}
}

func (s stack) models(t *testing.T) []string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		}
	}
	getJSON(t, s.url(t)+"/v1/models", &list)
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	return ids
}

// chat sends a message to a model through the real server, and returns the status and the reply.
func (s stack) chat(t *testing.T, model, message string) (status int, content string) {
	t.Helper()
	status, answer := call(t, http.MethodPost, s.url(t)+"/v1/chat/completions", map[string]any{
		"model": model, "messages": []any{map[string]any{"role": "user", "content": message}},
	})
	var completion struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(answer, &completion); err != nil || len(completion.Choices) != 1 {
		return status, string(answer)
	}
	return status, completion.Choices[0].Message.Content
}

const question = "which way to the library?"

// waitReachable waits until the node routes connections to the Service to a pod, which happens a moment after the pod
// is ready.
func (s stack) waitReachable(t *testing.T) {
	t.Helper()
	at := strings.TrimPrefix(s.url(t), "http://")
	framework.Eventually(t, soon, "the Service of "+s.name+" leads to a pod", func() error {
		connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", at)
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// chats sends a message to a provider's model through the server, and checks that the backend replied and got the right
// key.
func (s stack) chats(t *testing.T, provider, backend, model string) {
	t.Helper()
	url := serviceURL(t, s.namespace, backend) + "/double/requests"
	if status, _ := call(t, http.MethodDelete, url, nil); status != http.StatusNoContent {
		t.Fatalf("DELETE %s: status %d", url, status)
	}
	s.waitReachable(t)
	status, content := s.chat(t, provider+"/"+model, question)
	if want := modelserverdouble.Answer(model, question); status != http.StatusOK || content != want {
		t.Fatalf("chat completion with %s/%s: status %d, answer %q, want %q", provider, model, status, content, want)
	}
	var list struct{ Requests []modelserverdouble.Request }
	getJSON(t, url, &list)
	for _, r := range list.Requests {
		if r.Model == model && r.KeyMatched {
			return
		}
	}
	t.Fatalf("no chat completion with the right key reached %s; what came: %+v", backend, list.Requests)
}

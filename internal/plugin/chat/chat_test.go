// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/portforward"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

func answers(t *testing.T) http.Handler {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"data": [{"id": "e5", "custom_metadata": {"model_type": "embedding"}}, {"id": "vllm/m1", "custom_metadata": {"model_type": "llm"}}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string
			Messages []struct{ Content string }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.Model == "wrong" {
			http.Error(w, `{"detail": "no such model"}`, http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprintf(w, `{"choices": [{"message": {"content": "%s heard: %s"}}]}`, request.Model, request.Messages[0].Content)
	})
	return mux
}

// run runs the command against a server behind the forwarded port of the ready pod.
func run(t *testing.T, scheme string, readyPods int, args ...string) (text string, code int) {
	t.Helper()
	return runWith(t, answers(t), scheme, readyPods, args...)
}

func runWith(t *testing.T, handler http.Handler, scheme string, readyPods int, args ...string) (text string, code int) {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
	cr.Status.ServiceURL = scheme + "://my-stack-service.ai.svc:8321"
	broken := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "broken", Labels: names.Selector("my-stack")}}
	initial := []client.Object{cr, broken}
	if readyPods > 0 {
		pod := broken.DeepCopy()
		pod.Name, pod.Status.Conditions = "ready", []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		initial = append(initial, pod)
	}
	server := httptest.NewUnstartedServer(handler)
	if scheme == "https" {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	address := server.Listener.Addr().String()
	var out bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &out}
	connect := func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{
			Client: fakecluster.New(t, initial...), Namespace: "ai",
			Forward: func(_ context.Context, pod *corev1.Pod, _, remote int32, listens func(int32) error) error {
				if pod.Name != "ready" || remote != 8321 {
					t.Errorf("forwards to port %d of pod %s", remote, pod.Name)
				}
				var local int32
				if _, err := fmt.Sscanf(address[strings.LastIndex(address, ":")+1:], "%d", &local); err != nil {
					t.Fatal(err)
				}
				return listens(local)
			},
		}, nil
	}
	cmd := New(streams, connect)
	if args[0] == "port-forward" {
		cmd, args = portforward.New(streams, connect), args[1:]
	}
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	code = cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	return out.String(), code
}

func TestChatUsesFirstLLM(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		if text, code := run(t, scheme, 1, "my-stack", "hello"); code != cli.ExitOK || text != "vllm/m1 heard: hello\n" {
			t.Errorf("%s: exit code %d: %s", scheme, code, text)
		}
	}
	if text, code := run(t, "http", 1, "my-stack", "--model", "other", "hello"); code != cli.ExitOK || text != "other heard: hello\n" {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func TestChatReportsServerErrors(t *testing.T) {
	for want, test := range map[string]struct {
		pods int
		args []string
	}{
		`model wrong: POST /v1/chat/completions: the server answers 404 Not Found: {"detail": "no such model"}`: {1, []string{"my-stack", "-m", "wrong", "x"}},
		"no pod of my-stack is ready: see kubectl llamastack status my-stack":                                   {0, []string{"my-stack", "x"}},
	} {
		if text, code := run(t, "http", test.pods, test.args...); code != cli.ExitFailure || !strings.Contains(text, want) {
			t.Errorf("exit code %d: %s\nwant %s", code, text, want)
		}
	}
}

// A redirect of a hostile server could send the question to an address that only the user's machine reaches.
//
// Proves: NFR-003.
func TestChatFollowsNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the address of a redirect was asked: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	for _, path := range []string{"GET /v1/models", "POST /v1/chat/completions"} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			mux := http.NewServeMux()
			mux.Handle("/", answers(t))
			mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, status) })
			text, code := runWith(t, mux, "http", 1, "my-stack", "hello")
			if code != cli.ExitFailure || !strings.Contains(text, "a redirect to \""+elsewhere.URL) || !strings.Contains(text, "which the command does not follow") {
				t.Errorf("%s %d: exit code %d: %s", path, status, code, text)
			}
		}
	}
}

// Proves: NFR-004 (the output is one object with the full answer or the address).
func TestChatAndPortForwardPrintForPrograms(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"my-stack", "hello", "-o", "yaml"}, "choices:\n- message:\n    content: 'vllm/m1 heard: hello'\n"},
		{[]string{"my-stack", "hello", "-o", "json"}, `"content": "vllm/m1 heard: hello"`},
		{[]string{"port-forward", "my-stack", "-o", "yaml"}, "pod: ready\nurl: http://127.0.0.1:"},
		{[]string{"port-forward", "my-stack", "-o", "json"}, "{\n  \"pod\": \"ready\",\n  \"url\": \"http://127.0.0.1:"},
	} {
		if text, code := run(t, "http", 1, c.args...); code != cli.ExitOK || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit code %d: %s", c.args, code, text)
		}
	}
	for _, args := range [][]string{{"my-stack", "hello", "-o", "table"}, {"port-forward", "my-stack", "-o", "table"}} {
		if text, code := run(t, "http", 1, args...); code != cli.ExitFailure || !strings.Contains(text, `--output "table": choose one of json, yaml`) {
			t.Errorf("%v: exit code %d: %s", args, code, text)
		}
	}
}

func TestPortForwardPrintsTheURL(t *testing.T) {
	text, code := run(t, "https", 1, "port-forward", "my-stack")
	if code != cli.ExitOK || !strings.HasPrefix(text, "https://127.0.0.1:") || !strings.Contains(text, " forwards to pod ready: ") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

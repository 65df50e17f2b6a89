// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const (
	// servers is the namespace of resources whose servers lie.
	servers = "servers"
	// maxStatus bounds a status, in bytes.
	maxStatus  = 128 << 10
	serverPort = "8321"
)

// lie is a server behind the Service of a resource.
type lie struct {
	name string
	// answer answers a request whose path is given.
	answer func(ctx context.Context, to io.Writer, path string)
	// want is a text of the answer that the status gives.
	want string
	// spec is what the spec has beside its distribution.
	spec string
}

// always answers every request with a text.
func always(text string) func(context.Context, io.Writer, string) {
	return func(ctx context.Context, to io.Writer, _ string) { once(text)(ctx, to) }
}

func endlessly(text, piece string) func(context.Context, io.Writer, string) {
	return func(ctx context.Context, to io.Writer, _ string) { flood(text, piece)(ctx, to) }
}

func slowly(text, piece string) func(context.Context, io.Writer, string) {
	return func(ctx context.Context, to io.Writer, _ string) { drip(text, piece)(ctx, to) }
}

// withProviders is a server that reports a version and lists providers.
func withProviders(list string) func(context.Context, io.Writer, string) {
	return func(_ context.Context, to io.Writer, path string) {
		body := `{"version":"0.7.1"}`
		if strings.HasSuffix(path, "/providers") {
			body = `{"data":` + list + `}`
		}
		_, _ = io.WriteString(to, okHeader+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))+body)
	}
}

// withLists is a server that reports a version and has a text in every list.
func withLists(list string) func(context.Context, io.Writer, string) {
	return func(_ context.Context, to io.Writer, path string) {
		body := `{"version":"0.7.1"}`
		if !strings.HasSuffix(path, "/version") {
			body = `{"data":` + list + `}`
		}
		_, _ = io.WriteString(to, okHeader+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))+body)
	}
}

const (
	okHeader  = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	chunked   = okHeader + "Transfer-Encoding: chunked\r\n\r\n"
	listEntry = `{"api":"inference","provider_id":"p#","provider_type":"remote::vllm","config":{"url":"http://a"}}`
	anyEntry  = `{"id":"m#","identifier":"m#","connector_id":"m#","provider_id":"p","url":"http://canary-of-a-list"}`
	banner    = "SSH-2.0-OpenSSH_9.9 canary-of-a-banner\r\n"
)

const (
	// ofSecret is the value of a Secret that servers know, as the key of the provider in keyed.
	ofSecret = "7Jq-canary-of-a-secret-0b5e91f2"
	keyed    = `,"providers":{"inference":{"id":"vllm","provider":"vllm","endpoint":"http://vllm:8000","apiKey":{"name":"keys","key":"token"}}}`
	// guardedByAuth lets the server ask who calls it, and its command take that away.
	guardedByAuth = `,"auth":{"provider":"custom","settings":{"endpoint":"https://auth.example.com"}},"workload":{"overrides":{"command":["sh"]}}`
)

// disclosing is a list with a text in the place of each name.
func disclosing(text string) string {
	return strings.ReplaceAll(`[{"api":"#","id":"#","identifier":"vllm/#","connector_id":"#","provider_id":"#","provider_type":"remote::#"}]`, "#", text)
}

// withVersion is a server that reports a version and lists nothing.
func withVersion(version string) func(context.Context, io.Writer, string) {
	return func(_ context.Context, to io.Writer, path string) {
		body := `{"data":[]}`
		if strings.HasSuffix(path, "/version") {
			body = `{"version":"` + version + `"}`
		}
		_, _ = io.WriteString(to, okHeader+fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))+body)
	}
}

func lies(elsewhere string) []lie {
	chunk := "10000\r\n" + strings.Repeat("a", 1<<16) + "\r\n"
	long := strings.Repeat("a", 200_000)
	return []lie{
		{name: "the value of a Secret as version", answer: withVersion(ofSecret), want: "version [redacted]", spec: keyed},
		{name: "the value of a Secret in every list", answer: withLists(disclosing(ofSecret)), want: "connectors", spec: keyed},
		{name: "the value of a Secret in base64", answer: withLists(disclosing(base64.StdEncoding.EncodeToString([]byte(ofSecret)))), want: "connectors", spec: keyed},
		{name: "half of the value of a Secret", answer: withLists(disclosing(ofSecret[:len(ofSecret)/2])), want: "connectors", spec: keyed},
		{name: "answers to anyone despite auth", answer: withLists("[]"), want: "AccessControlled=False AnswersAnyone", spec: guardedByAuth},
		{name: "endless headers", answer: endlessly("HTTP/1.1 200 OK\r\n", "A: "+strings.Repeat("b", 1000)+"\r\n"), want: "headers"},
		{name: "header that never ends", answer: endlessly("HTTP/1.1 200 OK\r\nA: ", strings.Repeat("b", 1000)), want: "headers"},
		{name: "endless body", answer: endlessly(chunked, chunk), want: "over"},
		{name: "endless interim answers", answer: endlessly("", "HTTP/1.1 103 Early Hints\r\n\r\n"), want: "could not be asked"},
		{name: "25 MiB of providers", answer: withProviders(list(250_000, listEntry)), want: "over"},
		{name: "1 MB of providers", answer: withProviders(list(9_000, listEntry)), want: "providers"},
		{name: "5000 times the same provider", answer: withProviders(list(5_000, strings.ReplaceAll(listEntry, "#", ""))), want: "1 providers"},
		{name: "provider of 200 KB", answer: withProviders(list(1, `{"api":"`+long+`","provider_id":"`+long+`","provider_type":"`+long+`"}`)), want: "0 providers"},
		{name: "providers of control characters", answer: withProviders(`[{"api":"\u0000\u001b[2J","provider_id":"\u202e\n","provider_type":"\ud800"}]`), want: "0 providers"},
		{name: "900 KB in every list", answer: withLists(list(9_000, anyEntry)), want: " connectors"},
		{name: "control characters in every list", answer: withLists(`[{"id":"\u0000\u001b[2J","connector_id":"\u202e\n","provider_id":"\ud800"}]`), want: "0 models, 0 connectors"},
		{name: "JSON of 9000 levels", answer: withProviders(nest(9000, "0")), want: "not the expected JSON"},
		{name: "version of 200 KB", answer: always(okHeader + "\r\n" + `{"version":"` + long + `"}`), want: "not the expected JSON"},
		{name: "slow body", answer: slowly(okHeader+"Content-Length: 1000\r\n\r\n", " "), want: "no answer in time"},
		{name: "slow header", answer: slowly("HTTP/1.1 200 OK\r\n", "A: b\r\n"), want: "no answer in time"},
		{name: "silence", answer: slowly("", ""), want: "no answer in time"},
		{name: "redirect", answer: always("HTTP/1.1 302 Found\r\nLocation: http://" + elsewhere + "/v1/version\r\nContent-Length: 0\r\n\r\n"), want: "302 Found"},
		{name: "banner", answer: always(banner), want: "not HTTP"},
		{name: "long reason", answer: always("HTTP/1.1 500 " + strings.Repeat("canary-of-a-banner ", 100_000) + "\r\n\r\n"), want: "could not be asked"},
		{name: "garbage", answer: always(strings.Repeat("\x00\xff", 100_000)), want: "could not be asked"},
	}
}

// lyingServer is one that runs.
type lyingServer struct {
	lie
	resource string
	asked    atomic.Int64
	said     string
}

// serverInputs are one input that is all servers at once, and the answers to each.
func serverInputs() []input {
	var elsewhereAsked atomic.Int64
	var running []*lyingServer
	all := []input{{name: "all of them at once", want: []string{"servers were asked, none of them elsewhere"}, send: func(t *testing.T, w *world) (string, error) {
		return w.runLies(t, &running, &elsewhereAsked)
	}}}
	for i, l := range lies("") {
		all = append(all, input{name: l.name, want: []string{l.want}, send: func(*testing.T, *world) (string, error) {
			if len(running) == 0 {
				return "", errors.New(`the input "all of them at once" did not run`)
			}
			s := running[i]
			if strings.Contains(s.said, "canary") {
				return s.said, errors.New("the status tells what a server sends")
			}
			return s.said, nil
		}})
	}
	return all
}

func (w *world) runLies(t *testing.T, running *[]*lyingServer, elsewhereAsked *atomic.Int64) (string, error) {
	t.Helper()
	w.namespace(t, servers)
	w.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: servers, Name: "keys"}, StringData: map[string]string{"token": ofSecret}})
	w.canaries.Add(ofSecret)
	w.canaries.Add(ofSecret[:len(ofSecret)/2])
	ctx, cancel := context.WithCancel(context.Background())
	var background sync.WaitGroup
	t.Cleanup(func() { cancel(); background.Wait() })
	background.Go(func() { w.playNode(ctx, servers) })
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	background.Go(func() { serve(ctx, elsewhere, elsewhereAsked, always(okHeader+"\r\n")) })
	for i, l := range lies(elsewhere.Addr().String()) {
		s := &lyingServer{lie: l, resource: "server-" + strconv.Itoa(i)}
		*running = append(*running, s)
		if denied, err := w.store(t, "v1alpha2", servers, s.resource, resource("v1alpha2", s.resource, starter+s.spec)); denied != "" || err != nil {
			return denied, err
		}
		listener, err := w.listenAtService(t, s.resource)
		if err != nil {
			return "", err
		}
		background.Go(func() { serve(ctx, listener, &s.asked, l.answer) })
	}
	for _, s := range *running {
		if err := w.awaitWord(t, s); err != nil {
			return s.said, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if n := elsewhereAsked.Load(); n > 0 {
		return "", fmt.Errorf("the operator followed a redirect %d times", n)
	}
	return fmt.Sprintf("%d servers were asked, none of them elsewhere", len(*running)), nil
}

// listenAtService takes the address of the Service of a resource, where a node would lead to its pods.
func (w *world) listenAtService(t *testing.T, name string) (net.Listener, error) {
	t.Helper()
	service := &corev1.Service{}
	err := fixture.Poll(t.Context(), answerWithin, func() error {
		return w.admin.Get(t.Context(), client.ObjectKey{Namespace: servers, Name: name + "-service"}, service)
	})
	if err != nil {
		return nil, err
	}
	return net.Listen("tcp", net.JoinHostPort(service.Spec.ClusterIP, serverPort))
}

// serve answers connections until the context ends.
func serve(ctx context.Context, listener net.Listener, asked *atomic.Int64, answer func(context.Context, io.Writer, string)) {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		connections.Go(func() {
			defer func() { _ = conn.Close() }()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				asked.Add(1)
				answer(ctx, conn, request.URL.Path)
			}
		})
	}
}

// awaitWord waits until the status reports what came of asking a server.
func (w *world) awaitWord(t *testing.T, s *lyingServer) error {
	t.Helper()
	return fixture.Poll(t.Context(), 2*time.Minute, func() error {
		o, err := w.observe(t.Context(), servers, s.resource)
		if err != nil {
			return err
		}
		if o.bytes > maxStatus {
			return fmt.Errorf("the status has %d bytes", o.bytes)
		}
		access := ""
		for _, c := range o.status.Conditions {
			if c.Type == v1alpha2.ConditionAccessControlled {
				access = fmt.Sprintf(", %s=%s %s", c.Type, c.Status, c.Reason)
			}
			if c.Type != v1alpha2.ConditionAccessControlled && strings.Contains(c.Message, "could not be asked") {
				s.said = fmt.Sprintf("%s=%s: %s", c.Type, c.Status, c.Message)
				return nil
			}
		}
		v, d := o.status.Version, o.status.DistributionConfig
		if v == nil || v.LlamaStackServerVersion == "" || d == nil {
			return fmt.Errorf("asked %d times, but the status says nothing of it: %+v", s.asked.Load(), o.status.Conditions)
		}
		s.said = fmt.Sprintf("version %s, %d providers, %d models, %d connectors, status of %d bytes%s",
			v.LlamaStackServerVersion, len(d.Providers), len(d.Models), len(d.Connectors), o.bytes, access)
		text, err := json.Marshal(o.status)
		if found := w.canaries.In(string(text)); err != nil || len(found) > 0 {
			s.said += fmt.Sprintf(", and a canary: %q %v", found, err)
		}
		return nil
	})
}

// playNode reports about every pod of the namespace that it runs and is ready, as a node would.
func (w *world) playNode(ctx context.Context, namespace string) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for number := 0; ; {
		var pods corev1.PodList
		if err := w.admin.List(ctx, &pods, client.InNamespace(namespace)); err == nil { // the next round asks again
			for i := range pods.Items {
				pod := &pods.Items[i]
				if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodRunning {
					continue
				}
				number++
				pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.244.0."+strconv.Itoa(1+number%250)
				pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				_ = w.admin.Status().Update(ctx, pod)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package reconnect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errRefused = errors.New("connection refused")

// Proves: L-30 (the requests of caches wait for the API server; all others fail at once, and an answer is an answer).
func TestOnlyRequestsOfCachesWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, url string
		deadline    bool
		refused     int   // how often, until somebody answers
		unready     []int // the statuses of the answers before the last one
		status      int
		asked       int
		fails       bool
	}{
		"a watch":                  {method: http.MethodGet, url: "/pods?watch=true", refused: 3, status: 200, asked: 4},
		"a list of a cache":        {method: http.MethodGet, url: "/pods?limit=500&resourceVersion=0", refused: 3, status: 200, asked: 4},
		"a server without etcd":    {method: http.MethodGet, url: "/pods?watch=true", refused: 1, unready: []int{503, 500, 502, 429}, status: 200, asked: 6},
		"a server that refuses":    {method: http.MethodGet, url: "/pods?watch=true", refused: 1, status: 403, asked: 2},
		"an older state of etcd":   {method: http.MethodGet, url: "/pods?watch=true&resourceVersion=9", status: 504, asked: 1},
		"an error for a read":      {method: http.MethodGet, url: "/pods/a", status: 503, asked: 1},
		"a read":                   {method: http.MethodGet, url: "/pods/a", refused: 3, asked: 1, fails: true},
		"a list that is not cache": {method: http.MethodGet, url: "/pods?limit=500", refused: 3, asked: 1, fails: true},
		"a write":                  {method: http.MethodPatch, url: "/pods/a?resourceVersion=1", refused: 3, asked: 1, fails: true},
		"a request with deadline":  {method: http.MethodGet, url: "/pods?watch=true", deadline: true, refused: 3, asked: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			w := New(logr.Discard())
			w.interval = time.Millisecond
			transport := w.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
				asked++
				if asked <= c.refused {
					return nil, errRefused
				}
				status := c.status
				if i := asked - c.refused - 1; i < len(c.unready) {
					status = c.unready[i]
				}
				return &http.Response{StatusCode: status, Body: http.NoBody}, nil
			}))
			r := httptest.NewRequest(c.method, c.url, http.NoBody)
			if c.deadline {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				r = r.WithContext(ctx)
			}
			answer, err := transport.RoundTrip(r)
			if err == nil {
				defer func() { _ = answer.Body.Close() }()
			}
			if c.fails != errors.Is(err, errRefused) || !c.fails && answer.StatusCode != c.status {
				t.Errorf("%v, %v", answer, err)
			}
			if asked != c.asked {
				t.Errorf("asked %d times, want %d", asked, c.asked)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	transport := New(logr.Discard()).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, errRefused
	}))
	answer, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "/pods?watch=true", http.NoBody).WithContext(ctx))
	if !errors.Is(err, errRefused) {
		_ = answer.Body.Close()
		t.Errorf("%v, %v", answer, err)
	}
}

// Proves: L-30 (an error that lasts is passed on, so that it is logged; and a server's own pause is kept to).
func TestAnErrorThatLastsIsPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		retryAfter       string
		atLeast, atMost  int // how often the server is asked
		earliest, latest time.Duration
	}{
		"a server without an own pause": {"", 75, 151, patience - 2*interval, patience},
		"a server with an own pause":    {"60", 3, 3, 2 * time.Minute, 2 * time.Minute},
		"a pause that takes too long":   {"151", 1, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, time.Now()
				answer, err := New(logr.Discard()).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
					asked++
					return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {c.retryAfter}}, Body: http.NoBody}, nil
				})).RoundTrip(httptest.NewRequest(http.MethodGet, "/pods?watch=true", http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode != http.StatusServiceUnavailable || asked < c.atLeast || asked > c.atMost {
					t.Errorf("asked %d times, then %d", asked, answer.StatusCode)
				}
				if after := time.Since(began); after < c.earliest || after > c.latest {
					t.Errorf("passed on after %s", after)
				}
			})
		})
	}
}

// Proves: L-30 (how long an API server may say that it cannot serve begins anew when it could not be reached meanwhile, as while it restarts).
func TestAnOutageEndsTheTimeOfAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		answer, err := New(logr.Discard()).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
			if at := time.Since(began); at > time.Minute && at < 2*time.Minute {
				return nil, errRefused
			}
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody}, nil
		})).RoundTrip(httptest.NewRequest(http.MethodGet, "/pods?watch=true", http.NoBody))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if after, want := time.Since(began), 2*time.Minute+patience; after < want-2*interval || after > want+2*interval {
			t.Errorf("passed on after %s, want %s", after, want)
		}
	})
}

// A controller that waits for its first list gives up before the wait ends, so the log has the cause at once, or never.
//
// Proves: L-30, NFR-003 (why the API server cannot serve is logged once; what might be an object is not, and neither is more than a message may be).
func TestFirstRefusalLogsItsCause(t *testing.T) {
	const value = "canary"
	status := &metav1.Status{Status: metav1.StatusFailure, Message: "Internal error occurred: unable to transform key", Code: 500}
	long := &metav1.Status{Status: metav1.StatusFailure, Message: strings.Repeat("x", 10_000), Code: 500}
	secrets := &corev1.SecretList{Items: []corev1.Secret{{StringData: map[string]string{"password": value}}}}
	for name, c := range map[string]struct {
		contentType string
		body        []byte
		want        string
	}{
		"a status":                 {runtime.ContentTypeJSON, encode(t, runtime.ContentTypeJSON, status), status.Message},
		"a status in protobuf":     {runtime.ContentTypeProtobuf, encode(t, runtime.ContentTypeProtobuf, status), status.Message},
		"a long status":            {runtime.ContentTypeJSON, encode(t, runtime.ContentTypeJSON, long), bounds.Message(long.Message)},
		"the text of a proxy":      {"text/plain; charset=utf-8", []byte("no healthy upstream\n"), "no healthy upstream"},
		"Secrets":                  {runtime.ContentTypeJSON, encode(t, runtime.ContentTypeJSON, secrets), ""},
		"Secrets in protobuf":      {runtime.ContentTypeProtobuf, encode(t, runtime.ContentTypeProtobuf, secrets), ""},
		"Secrets as text":          {"text/plain", encode(t, runtime.ContentTypeJSON, secrets), ""},
		"a broken list of Secrets": {runtime.ContentTypeJSON, encode(t, runtime.ContentTypeJSON, secrets)[1:], ""},
		"nothing":                  {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines []string
				log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
				answer, err := New(log).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
					return &http.Response{
						StatusCode: http.StatusInternalServerError, Status: "500 Internal Server Error",
						Header: http.Header{"Content-Type": {c.contentType}}, Body: io.NopCloser(bytes.NewReader(c.body)),
					}, nil
				})).RoundTrip(httptest.NewRequest(http.MethodGet, "/api/v1/secrets?watch=true", http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if len(lines) != 1 || !strings.HasSuffix(lines[0], fmt.Sprintf(`"cause"=%q`, c.want)) || strings.Contains(lines[0], value) {
					t.Errorf("%q, want the cause %q", lines, c.want)
				}
			})
		})
	}
}

// encode writes an object as an API server does.
func encode(t *testing.T, contentType string, o runtime.Object) []byte {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), o)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Proves: L-30 (an answer whose cause was logged is passed on whole; one that does not end holds nobody up).
func TestReadingTheCauseSpoilsNoAnswer(t *testing.T) {
	for name, ends := range map[string]bool{"an answer that ends": true, "an answer that does not": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := strings.Repeat("down\n", causeBytes)
				began, asked := time.Now(), 0
				answer, err := New(logr.Discard()).Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
					asked++
					if !ends && asked > 1 {
						return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
					}
					if ends {
						return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"200"}}, Body: io.NopCloser(strings.NewReader(sent))}, nil
					}
					never, _ := io.Pipe()
					return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: never}, nil
				})).RoundTrip(httptest.NewRequest(http.MethodGet, "/pods?watch=true", http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				if err != nil || ends && string(got) != sent {
					t.Errorf("%d bytes of %d, %v", len(got), len(sent), err)
				}
				if after := time.Since(began); after > causeTime+2*interval {
					t.Errorf("after %s", after)
				}
			})
		})
	}
}

// Kubernetes' clients repeat a request themselves, up to ten times, where the answer says when to ask again.
//
// Proves: L-30 (an error that lasts gets to the cache after one wait, not after eleven).
func TestPassedOnAnswerIsNotRepeatedByTheClient(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "etcd is away", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	w := New(logr.Discard())
	w.patience = 0
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs}}
	config.Wrap(w.Wrap)
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(*rest.Request) error{
		"a list":  func(r *rest.Request) error { return r.Param("resourceVersion", "0").Do(t.Context()).Error() },
		"a watch": func(r *rest.Request) error { _, err := r.Param("watch", "true").Watch(t.Context()); return err },
	} {
		asked.Store(0)
		if err := ask(client.Get().AbsPath("/api/v1/pods")); !apierrors.IsServiceUnavailable(err) || asked.Load() != 1 {
			t.Errorf("%s: asked %d times, then %v", name, asked.Load(), err)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// safeBuffer is a buffer that several goroutines may write to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// requestLog records the operator's requests to the API server, long-running watches left out.
type requestLog struct {
	mu       sync.Mutex
	requests []string
}

func (l *requestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "true" {
			request := r.Method + " " + r.URL.Path
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusConflict {
				request += conflict
			}
			if r.URL.Query().Get("dryRun") != "" {
				request += dryRun
			}
			l.mu.Lock()
			l.requests = append(l.requests, request)
			l.mu.Unlock()
			return response, err
		}
		return next.RoundTrip(r)
	})
}

// conflict follows a request that was made with an old version of the object, or was to create one that exists.
const conflict = " (conflict)"

// dryRun ends a request that changes nothing.
const dryRun = " (dry run)"

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *requestLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// writes returns the requests after the first n that could change something; events are not state.
func (l *requestLog) writes(n int) []string {
	return slices.DeleteFunc(l.all()[n:], func(r string) bool {
		return strings.HasPrefix(r, "GET ") || strings.HasSuffix(r, "/events")
	})
}

// operator is an operator that runs in this process for the time of a test.
type operator struct {
	requests *requestLog
	metrics  *metrics.Metrics
	stop     func()
}

// counted are the series of a counter or a gauge of the operator, as "name{label=value} number".
func (o *operator) counted(t *testing.T, name string) (series []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	framework.NoError(t, registry.Register(o.metrics))
	families, err := registry.Gather()
	framework.NoError(t, err)
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			series = append(series, fmt.Sprintf("%s{%s} %v", name, strings.Join(labels, ","), m.GetCounter().GetValue()+m.GetGauge().GetValue()))
		}
	}
	return series
}

type operatorOptions struct {
	build string
}

// startOperator runs the operator with its own permissions, for the namespace of the test.
func (e *env) startOperator(o operatorOptions) *operator {
	e.t.Helper()
	op := &operator{requests: &requestLog{}, metrics: metrics.New()}
	restConfig := rest.CopyConfig(operatorConfig)
	restConfig.Wrap(op.requests.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     scheme,
		NewCache:   caching.New(ctx),
		Cache:      caching.Options([]string{e.namespace}, e.operator, nil),
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: caching.UncachedKinds(), Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		cancel()
		e.t.Fatal(err)
	}
	known, err := gather.NewSettingsStore(ctx, restConfig, e.operator)
	if err != nil {
		cancel()
		e.t.Fatal(err)
	}
	go func() { _ = known.Start(ctx) }()
	err = reconcile.Setup(ctx, mgr, reconcile.Options{
		OperatorNamespace: e.operator, Pod: operatorPod, Build: o.build, Settings: known, APIs: gather.NewKnownEdgeAPIs(mgr.GetRESTMapper()),
		Metrics: op.metrics,
		ServerURL: func(_ *v1alpha2.LlamaStackDistribution, scheme corev1.URIScheme) string {
			return strings.ToLower(string(scheme)) + "://" + e.server.Listener.Addr().String()
		},
	})
	if err != nil {
		cancel()
		e.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	op.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.t.Errorf("the operator ended with %v", err)
		}
	})
	e.t.Cleanup(op.stop)
	return op
}

// env is the world of one test.
type env struct {
	t         *testing.T
	namespace string
	// operator is the namespace of the operator, which has its settings.
	operator string
	server   *httptest.Server
}

// newEnv gives a test a namespace of its own, a node double and a server double.
func newEnv(t *testing.T) *env {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	framework.NoError(t, admin.Create(t.Context(), ns))
	e := &env{t: t, namespace: ns.Name, operator: operatorNamespace, server: serverDouble(t)}
	nodeDouble(t, admin, e.namespace)
	return e
}

// newEnvWithSettings gives a test an operator whose settings are in the test's own namespace: no other test sees them.
func newEnvWithSettings(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	e.operator = e.namespace
	return e
}

// serverRelease is the release that a built-in name stands for where the spec asks for nothing that it lacks.
var serverRelease = distributions.All()[0].Newest().Version

// serverDouble answers what the operator asks of a running server, as serverRelease does.
func serverDouble(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	line, _ := catalog.Get(catalog.Newest())
	connectors, _, _ := strings.Cut(line.Lists["connectors"], "?")
	for path, answer := range map[string]string{
		"GET /v1/version": `{"version":"` + serverRelease + `"}`,
		"GET /v1/providers": `{"data":[{"api":"inference","provider_id":"vllm","provider_type":"remote::vllm",
			"config":{"api_token":"********"},"health":{"status":"Not Implemented"}}]}`,
		"GET /v1/models":    `{"data":[{"id":"vllm/llama3","custom_metadata":{"provider_id":"vllm"}}]}`,
		"GET " + connectors: `{"data":[{"connector_id":"of-the-base","connector_type":"mcp","url":"http://mcp"}]}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// nodeDouble plays the node: it reports about every pod of the namespace that it runs and is ready.
func nodeDouble(t *testing.T, c client.WithWatch, namespace string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		framework.OnPodChanges(ctx, c, func() { readyPods(ctx, c, namespace) }, client.InNamespace(namespace))
	}()
}

func readyPods(ctx context.Context, c client.Client, namespace string) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return // the next round asks again
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			_ = c.Delete(ctx, pod, client.GracePeriodSeconds(0))
			continue
		}
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_ = c.Status().Update(ctx, pod)
	}
}

// makeSettings makes the operator settings, of one key. They go with the test, or with the first call of the returned function.
func (e *env) makeSettings(key, value string) (remove func()) {
	e.t.Helper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.operator, Name: settings.ConfigMapName},
		Data:       map[string]string{key: value},
	}
	framework.NoError(e.t, admin.Create(e.t.Context(), cm))
	remove = sync.OnceFunc(func() { _ = admin.Delete(context.Background(), cm) })
	e.t.Cleanup(remove)
	return remove
}

// apply applies a manifest as a user does, in the namespace of the test, and returns what kubectl prints.
func (e *env) apply(manifest string) (string, error) {
	return cluster.KubectlInput(e.t.Context(), manifest, "apply", "-n", e.namespace, "-f", "-")
}

func (e *env) mustApply(manifest string) {
	e.t.Helper()
	if _, err := e.apply(manifest); err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) createSecret(name string, data map[string]string) {
	e.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}, StringData: data}
	framework.NoError(e.t, admin.Create(e.t.Context(), s))
}

func (e *env) get(o client.Object, name string) error {
	return admin.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: name}, o)
}

func (e *env) resource(name string) *v1alpha2.LlamaStackDistribution {
	e.t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	framework.NoError(e.t, e.get(cr, name))
	return cr
}

// waitFor waits until the condition of the resource has the status and the reason, for its current generation, and returns
// its message.
func (e *env) waitFor(name, condition string, status metav1.ConditionStatus, reason string) string {
	e.t.Helper()
	return awaitCondition(e.t, admin, client.ObjectKey{Namespace: e.namespace, Name: name}, condition, status, reason)
}

// awaitCondition is waitFor in any cluster. It reads a tree: Go's types cannot read every resource.
func awaitCondition(t *testing.T, c client.Client, key client.ObjectKey, condition string, status metav1.ConditionStatus, reason string) (message string) {
	t.Helper()
	framework.Eventually(t, 2*time.Minute, fmt.Sprintf("%s %s=%s %s", key, condition, status, reason), func() error {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
		if err := c.Get(t.Context(), key, u); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		for _, c := range conditions {
			c, _ := c.(map[string]any)
			if c["type"] == condition && c["status"] == string(status) && (reason == "" || c["reason"] == reason) && c["observedGeneration"] == u.GetGeneration() {
				message, _ = c["message"].(string)
				return nil
			}
		}
		return fmt.Errorf("generation %d, conditions %v", u.GetGeneration(), conditions)
	})
	return message
}

// waitReady waits until the resource is Ready and the server was asked, and nothing more is about to happen.
func (e *env) waitReady(name string) *v1alpha2.LlamaStackDistribution {
	e.t.Helper()
	e.waitFor(name, v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	framework.Eventually(e.t, time.Minute, "the server was asked", func() error {
		if v := e.resource(name).Status.Version; v == nil || v.LlamaStackServerVersion == "" {
			return fmt.Errorf("version %+v", v)
		}
		return nil
	})
	return e.resource(name)
}

// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/caching"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// RequestLog records the operator's requests to the API server, except watches.
type RequestLog struct {
	mu       sync.Mutex
	requests []string
}

func (l *RequestLog) wrap(next http.RoundTripper) http.RoundTripper {
	return RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") != "true" {
			request := r.Method + " " + r.URL.Path
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusConflict {
				request += Conflict
			}
			if r.URL.Query().Get("dryRun") != "" {
				request += DryRun
			}
			l.mu.Lock()
			l.requests = append(l.requests, request)
			l.mu.Unlock()
			return response, err
		}
		return next.RoundTrip(r)
	})
}

// Conflict and DryRun are appended to requests that failed with a conflict, and to those that change nothing.
const (
	Conflict = " (conflict)"
	DryRun   = " (dry run)"
)

// RoundTripper is an http.RoundTripper.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// All returns all requests as "METHOD PATH".
func (l *RequestLog) All() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests)
}

// Writes returns the requests after the first n that may change an object other than an Event.
func (l *RequestLog) Writes(n int) []string {
	return slices.DeleteFunc(l.All()[n:], func(r string) bool {
		return strings.HasPrefix(r, "GET ") || strings.HasSuffix(r, "/events")
	})
}

// Operator is an operator that runs in this process until the test ends.
type Operator struct {
	Requests *RequestLog
	metrics  *metrics.Metrics
	Stop     func()
}

// Counted returns the series of a counter or a gauge as "name{label=value} number".
func (o *Operator) Counted(t testing.TB, name string) (series []string) {
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

// StartOperator runs the operator with its own permissions for the namespace.
func (e *Env) StartOperator(build ...string) *Operator {
	e.T.Helper()
	op := &Operator{Requests: &RequestLog{}, metrics: metrics.New(catalog.Lines())}
	restConfig := rest.CopyConfig(OperatorConfig)
	restConfig.Wrap(op.Requests.wrap)
	ctx, cancel := context.WithCancel(context.Background())
	e.T.Cleanup(cancel)
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     Scheme,
		NewCache:   caching.New(ctx),
		Cache:      caching.Options([]string{e.Name}, e.OperatorNamespace, nil),
		Client:     client.Options{Cache: &client.CacheOptions{DisableFor: caching.UncachedKinds(), Unstructured: true}},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	framework.NoError(e.T, err)
	known, err := gather.NewSettingsStore(ctx, restConfig, e.OperatorNamespace)
	framework.NoError(e.T, err)
	go func() { _ = known.Start(ctx) }()
	err = reconcile.Setup(ctx, mgr, reconcile.Options{
		OperatorNamespace: e.OperatorNamespace, Pod: operatorPod, Build: strings.Join(build, ""), Settings: known, APIs: gather.NewKnownEdgeAPIs(mgr.GetRESTMapper()),
		Metrics: op.metrics,
		ServerURL: func(_ *v1alpha2.LlamaStackDistribution, scheme corev1.URIScheme) string {
			return strings.ToLower(string(scheme)) + "://" + e.Server.Listener.Addr().String()
		},
	})
	framework.NoError(e.T, err)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	op.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			e.T.Errorf("the operator ended with %v", err)
		}
	})
	e.T.Cleanup(op.Stop)
	return op
}

// Quiet waits until the operator has made no request for half a second.
func (e *Env) Quiet(op *Operator) {
	e.T.Helper()
	last, since := len(op.Requests.All()), time.Now()
	e.Eventually("the operator comes to rest", func() error {
		if n := len(op.Requests.All()); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return fmt.Errorf("last request: %v", op.Requests.All()[max(0, last-1):])
		}
		return nil
	})
}

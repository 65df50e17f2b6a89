// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Metrics are the operator's own metrics. It is a prometheus.Collector, and safe for concurrent use.
type Metrics struct {
	distributions, problems, expiry *prometheus.Desc

	steps               *prometheus.HistogramVec
	rollouts, migrated  prometheus.Counter
	settingsErrors      prometheus.Gauge
	panicked            prometheus.CounterFunc
	servers, registries *prometheus.CounterVec
	lookups             *prometheus.CounterVec

	expires atomic.Pointer[func() time.Time]

	mu     sync.Mutex
	states map[types.NamespacedName]state
}

// state is what the last reconcile of a custom resource reported.
type state struct {
	phase, line string
	problems    []kind
}

// kind is what the metrics say of a problem.
type kind struct {
	reason   problem.Reason
	severity problem.Severity
}

// New returns metrics that have counted nothing.
func New() *Metrics {
	plain := func(d *Definition) prometheus.CounterOpts { return prometheus.CounterOpts{Name: d.Name, Help: d.Help} }
	return &Metrics{
		distributions: distributions.desc(), problems: problems.desc(), expiry: expiry.desc(),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: steps.Name, Help: steps.Help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), // to 16 s
		}, steps.names()),
		rollouts: prometheus.NewCounter(plain(&rollouts)), migrated: prometheus.NewCounter(plain(&migrated)),
		settingsErrors: prometheus.NewGauge(prometheus.GaugeOpts{Name: settingsErrors.Name, Help: settingsErrors.Help}),
		panicked:       prometheus.NewCounterFunc(plain(&panicked), func() float64 { return float64(panics.Count()) }),
		servers:        servers.counter(), registries: registries.counter(), lookups: lookups.counter(),
		states: map[types.NamespacedName]state{},
	}
}

// Report notes what a reconcile reported of a custom resource. A release line that the catalog does not know counts as
// unknown.
func (m *Metrics) Report(key types.NamespacedName, phase, line string, list problem.List) {
	if !slices.Contains(catalog.Lines(), line) {
		line = Unknown
	}
	s := state{phase: phase, line: line}
	for i := range list {
		k := kind{list[i].Reason, cmp.Or(list[i].Severity, problem.Error)}
		if !slices.Contains(s.problems, k) {
			s.problems = append(s.problems, k)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[key] = s
}

// Forget drops a custom resource that is gone.
func (m *Metrics) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, key)
}

// ForgetAll drops all custom resources and the errors of the settings: this process does not reconcile them any more.
func (m *Metrics) ForgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.states)
	m.settingsErrors.Set(0)
}

// Step notes how long a step of a reconcile took, with the problems that it found.
func (m *Metrics) Step(step string, began time.Time, found problem.List) {
	result := Succeeded
	if errs := found.Errors(); len(errs) > 0 {
		result = string(errs[0].Class)
	}
	m.steps.WithLabelValues(step, result).Observe(time.Since(began).Seconds())
}

// Rollout notes that the operator wrote a new pod template.
func (m *Metrics) Rollout() { m.rollouts.Inc() }

// Migrated notes how many custom resources were rewritten in the version that is stored now.
func (m *Metrics) Migrated(count int) { m.migrated.Add(float64(count)) }

// SettingsErrors notes how many errors the operator's settings and the registered distributions have.
func (m *Metrics) SettingsErrors(count int) { m.settingsErrors.Set(float64(count)) }

// ServeExpiry makes the metric of the certificate from what tells when it expires; a zero time stands for no
// certificate.
func (m *Metrics) ServeExpiry(expires func() time.Time) { m.expires.Store(&expires) }

// Describe is that of prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.distributions, m.problems, m.expiry} {
		to <- d
	}
	for _, c := range m.counted() {
		c.Describe(to)
	}
}

// Collect is that of prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	byState, byProblem := m.tally()
	for of, count := range byState {
		to <- prometheus.MustNewConstMetric(m.distributions, prometheus.GaugeValue, float64(count), of.phase, of.line)
	}
	for of, count := range byProblem {
		to <- prometheus.MustNewConstMetric(m.problems, prometheus.GaugeValue, float64(count), string(of.reason),
			string(of.severity))
	}
	if expires := m.expires.Load(); expires != nil {
		at := 0.0
		if t := (*expires)(); !t.IsZero() {
			at = float64(t.Unix())
		}
		to <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, at)
	}
	for _, c := range m.counted() {
		c.Collect(to)
	}
}

// place is where a custom resource counts.
type place struct{ phase, line string }

func (m *Metrics) tally() (byState map[place]int, byProblem map[kind]int) {
	byState, byProblem = map[place]int{}, map[kind]int{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.states {
		byState[place{s.phase, s.line}]++
		for _, k := range s.problems {
			byProblem[k]++
		}
	}
	return byState, byProblem
}

func (m *Metrics) counted() []prometheus.Collector {
	return []prometheus.Collector{m.steps, m.rollouts, m.migrated, m.settingsErrors, m.panicked, m.servers, m.registries,
		m.lookups}
}

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

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Metrics are the operator's metrics, a prometheus.Collector that is safe for concurrent use.
type Metrics struct {
	releaseLines []string

	distributions, problems, unhealthy, expiry *prometheus.Desc

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

type state struct {
	phase, line string
	problems    []kind
	unhealthy   []string
}

// kind is a problem's label values.
type kind struct {
	reason   problem.Reason
	severity problem.Severity
}

// New returns metrics without any counts. A release line that is not among the given ones counts as Unknown.
func New(releaseLines []string) *Metrics {
	plain := func(d *Definition) prometheus.CounterOpts { return prometheus.CounterOpts{Name: d.Name, Help: d.Help} }
	return &Metrics{
		releaseLines:  releaseLines,
		distributions: distributions.desc(), problems: problems.desc(), unhealthy: unhealthy.desc(),
		expiry: expiry.desc(),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: steps.Name, Help: steps.Help, Buckets: prometheus.ExponentialBuckets(0.001, 4, 8), // to 16 s
		}, steps.names()),
		rollouts: prometheus.NewCounter(plain(&rollouts)), migrated: prometheus.NewCounter(plain(&migrated)),
		settingsErrors: prometheus.NewGauge(prometheus.GaugeOpts{Name: settingsErrors.Name, Help: settingsErrors.Help}),
		panicked:       prometheus.NewCounterFunc(plain(&panicked), func() float64 { return float64(problem.PanicCount()) }),
		servers:        servers.counter(), registries: registries.counter(), lookups: lookups.counter(),
		states: map[types.NamespacedName]state{},
	}
}

// Report records the result of a reconcile; failing are the conditions that the metric of unhealthy servers has.
func (m *Metrics) Report(key types.NamespacedName, phase, line string, list problem.List, failing ...string) {
	if !slices.Contains(m.releaseLines, line) {
		line = Unknown
	}
	s := state{phase: phase, line: line, unhealthy: failing}
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

// Forget drops a deleted custom resource.
func (m *Metrics) Forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, key)
}

// ForgetAll drops all custom resources and settings errors when this process stops reconciling.
func (m *Metrics) ForgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.states)
	m.settingsErrors.Set(0)
}

// Step records the duration of a step, with the problems that it found.
func (m *Metrics) Step(step string, began time.Time, found problem.List) {
	result := Succeeded
	if errs := found.Errors(); len(errs) > 0 {
		result = string(errs[0].Class)
	}
	m.steps.WithLabelValues(step, result).Observe(time.Since(began).Seconds())
}

// Rollout counts a new pod template.
func (m *Metrics) Rollout() { m.rollouts.Inc() }

// Migrated counts custom resources that were rewritten in the storage version.
func (m *Metrics) Migrated(count int) { m.migrated.Add(float64(count)) }

// SettingsErrors sets the number of errors in the settings and registered distributions.
func (m *Metrics) SettingsErrors(count int) { m.settingsErrors.Set(float64(count)) }

// ServeExpiry adds the metric of the certificate's expiry; a zero time means a missing certificate.
func (m *Metrics) ServeExpiry(expires func() time.Time) { m.expires.Store(&expires) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.distributions, m.problems, m.unhealthy, m.expiry} {
		to <- d
	}
	for _, c := range m.collectors() {
		c.Describe(to)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	byState, byProblem := m.tally()
	for key, count := range byState {
		to <- prometheus.MustNewConstMetric(m.distributions, prometheus.GaugeValue, float64(count), key.phase, key.line)
	}
	for key, count := range byProblem {
		to <- prometheus.MustNewConstMetric(m.problems, prometheus.GaugeValue, float64(count), string(key.reason),
			string(key.severity))
	}
	for _, s := range m.unhealthyServers() {
		to <- prometheus.MustNewConstMetric(m.unhealthy, prometheus.GaugeValue, 1, s.key.Namespace, s.key.Name, s.condition)
	}
	if expires := m.expires.Load(); expires != nil {
		at := 0.0
		if t := (*expires)(); !t.IsZero() {
			at = float64(t.Unix())
		}
		to <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, at)
	}
	for _, c := range m.collectors() {
		c.Collect(to)
	}
}

type stateKey struct{ phase, line string }

func (m *Metrics) tally() (byState map[stateKey]int, byProblem map[kind]int) {
	byState, byProblem = map[stateKey]int{}, map[kind]int{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.states {
		byState[stateKey{s.phase, s.line}]++
		for _, k := range s.problems {
			byProblem[k]++
		}
	}
	return byState, byProblem
}

type unhealthyServer struct {
	key       types.NamespacedName
	condition string
}

// unhealthyServers returns the failing conditions of custom resources: the first by name, which bounds the number.
func (m *Metrics) unhealthyServers() (list []unhealthyServer) {
	m.mu.Lock()
	for key, s := range m.states {
		for _, condition := range s.unhealthy {
			list = append(list, unhealthyServer{key, condition})
		}
	}
	m.mu.Unlock()
	slices.SortFunc(list, func(a, b unhealthyServer) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name),
			cmp.Compare(a.condition, b.condition))
	})
	return list[:min(len(list), limits.UnhealthyServers)]
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.steps, m.rollouts, m.migrated, m.settingsErrors, m.panicked, m.servers, m.registries,
		m.lookups}
}

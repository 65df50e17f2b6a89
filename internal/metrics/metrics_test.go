// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

var releaseLines = []string{"0.6", "0.7"}

var errSilent = errors.New("silent")

// used returns metrics that have each counted something.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := New(releaseLines)
	terminal := problem.List{{Reason: problem.InvalidField, Class: problem.Terminal}, {Reason: problem.InvalidField, Class: problem.Terminal}}
	m.Report(types.NamespacedName{Name: "a"}, "Failed", "0.7", append(terminal, problem.Problem{Reason: problem.NoEffect, Severity: problem.Warning}))
	m.Report(types.NamespacedName{Namespace: "ai", Name: "b"}, "Failed", "0.7", terminal, "StorageReachable", "Available")
	m.Report(types.NamespacedName{Name: "c"}, "Ready", "99.9", nil)
	for _, step := range []string{StepGather, StepBuild, StepApply, StepPrune, StepObserve} {
		m.Step(step, time.Now(), terminal)
	}
	m.Rollout()
	m.Migrated(3)
	m.ServeExpiry(func() time.Time { return time.Unix(1234, 5) })
	m.CountProbe(errSilent)
	m.CountLookup(true)
	m.CountLookup(false)
	m.CountRegistryRequest(RegistryImage, nil)
	m.CountRegistryRequest(RegistryDigest, errSilent)
	for range 3 {
		m.CountRegistryRequest(RegistryFile, errSilent)
	}
	return m
}

// Proves: L-33.
func TestMetricsAreThoseThatAreDefined(t *testing.T) {
	m := used(t)
	registered := prometheus.NewPedanticRegistry()
	if err := registered.Register(m); err != nil {
		t.Fatal(err)
	}
	lint, err := testutil.GatherAndLint(registered)
	if err != nil || len(lint) > 0 {
		t.Errorf("%v %+v", err, lint)
	}
	families, err := registered.Gather()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]*dto.MetricFamily{}
	for _, f := range families {
		served[f.GetName()] = f
	}
	for _, d := range Definitions(releaseLines) {
		f := served[d.Name]
		if f == nil || strings.ToLower(f.GetType().String()) != string(d.Type) || f.GetHelp() != d.Help {
			t.Errorf("%s is served as %v", d.Name, f)
			continue
		}
		delete(served, d.Name)
		for _, series := range f.GetMetric() {
			for _, label := range series.GetLabel() {
				at := slices.IndexFunc(d.Labels, func(l Label) bool { return l.Name == label.GetName() })
				if at < 0 || len(d.Labels[at].Values) > 0 && !slices.Contains(d.Labels[at].Values, label.GetValue()) {
					t.Errorf("%s has the label %s", d.Name, label)
				}
			}
		}
	}
	for name := range served {
		t.Errorf("%s is not defined", name)
	}
}

// Proves: L-33 (each gauge counts a custom resource once, until it is deleted or another replica leads).
func TestResourcesCountByLastReport(t *testing.T) {
	const names = "llamastack_distributions llamastack_distribution_problems llamastack_webhook_certificate_expiry_timestamp_seconds"
	expect := func(m *Metrics, want string) {
		t.Helper()
		text := `
# HELP llamastack_webhook_certificate_expiry_timestamp_seconds Expiry of the webhooks' serving certificate, in seconds since 1970; zero without a certificate.
# TYPE llamastack_webhook_certificate_expiry_timestamp_seconds gauge
llamastack_webhook_certificate_expiry_timestamp_seconds 1234
` + want
		if err := testutil.CollectAndCompare(m, strings.NewReader(text), strings.Fields(names)...); err != nil {
			t.Error(err)
		}
	}
	const header = `# HELP llamastack_distributions LlamaStackDistributions by phase and by the release line of their server.
# TYPE llamastack_distributions gauge
`
	m := used(t)
	expect(m, `# HELP llamastack_distribution_problems LlamaStackDistributions with a problem of this reason.
# TYPE llamastack_distribution_problems gauge
llamastack_distribution_problems{reason="InvalidField",severity="Error"} 2
llamastack_distribution_problems{reason="NoEffect",severity="Warning"} 1
`+header+`llamastack_distributions{phase="Failed",release_line="0.7"} 2
llamastack_distributions{phase="Ready",release_line="unknown"} 1
`)
	m.Forget(types.NamespacedName{Name: "a"})
	m.Report(types.NamespacedName{Namespace: "ai", Name: "b"}, "Ready", "0.7", nil)
	expect(m, header+`llamastack_distributions{phase="Ready",release_line="0.7"} 1
llamastack_distributions{phase="Ready",release_line="unknown"} 1
`)
	m.ForgetAll()
	expect(m, "")
	m.ServeExpiry(func() time.Time { return time.Time{} })
	if got := testutil.CollectAndCount(m, "llamastack_webhook_certificate_expiry_timestamp_seconds"); got != 1 {
		t.Errorf("%d series", got)
	}
}

// Proves: L-33 (only servers that do not work are named, a bounded number of them).
func TestUnhealthyServersAreNamed(t *testing.T) {
	const name = "llamastack_distribution_unhealthy"
	m := used(t)
	want := "# HELP " + name + " " + unhealthy.Help + "\n# TYPE " + name + ` gauge
llamastack_distribution_unhealthy{condition="Available",name="b",namespace="ai"} 1
llamastack_distribution_unhealthy{condition="StorageReachable",name="b",namespace="ai"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
	for i := range limits.UnhealthyServers {
		m.Report(types.NamespacedName{Namespace: "many", Name: strconv.Itoa(i)}, "Failed", "0.7", nil, "Available")
	}
	if got := testutil.CollectAndCount(m, name); got != 1_000 || !strings.Contains(unhealthy.Help, "1,000") {
		t.Errorf("%d series", got)
	}
	m.ForgetAll()
	if got := testutil.CollectAndCount(m, name); got != 0 {
		t.Errorf("%d series after another replica leads", got)
	}
}

// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"

	"github.com/llamastack/llama-stack-k8s-operator/config/dashboards"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// scraped maps recorded metrics to the labels that the monitors in config/prometheus add.
var scraped = map[string]string{
	"operator.prom": `job="llama-stack-k8s-operator-controller-manager-metrics-service",namespace="llama-stack-k8s-operator-system",pod="operator-1"`,
	"server.prom":   `job="servers",namespace="ai",pod="my-stack-1",app_kubernetes_io_instance="my-stack"`,
}

var (
	sample    = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	variables = strings.NewReplacer("$__rate_interval", "5m", "$namespace", "ai", "$server", "my-stack")
	choices   = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
)

// Each query returns data from the recorded metrics in Prometheus' own engine. Counters grow, so quantiles exist.
//
// Proves: L-33.
func TestDashboardQueriesReturnData(t *testing.T) {
	var series strings.Builder
	for file, labels := range scraped {
		for line := range strings.Lines(string(readFile(t, "hack", "tools", "packages", "testdata", file))) {
			m := sample.FindStringSubmatch(strings.TrimSpace(line))
			if len(m) == 0 || m[3] == "NaN" {
				continue
			}
			own := strings.TrimSuffix(m[2], ",")
			if own != "" {
				own += ","
			}
			for label := range strings.SplitSeq(labels, ",") { // labels of a series win: honorLabels of the ServiceMonitor
				if key, _, _ := strings.Cut(label, "="); !strings.Contains(","+own, ","+key+"=") {
					own += label + ","
				}
			}
			increase := "0"
			if isCounter(m[1]) {
				increase = m[3]
			}
			series.WriteString("  " + m[1] + "{" + own + "} " + m[3] + "+" + increase + "x120\n")
		}
	}
	store := promqltest.LoadedStorage(t, "load 1m\n"+series.String())
	t.Cleanup(func() { _ = store.Close() })
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	run := func(expression string) promql.Vector {
		t.Helper()
		query, err := engine.NewInstantQuery(t.Context(), store, nil, expression, time.Unix(0, 0).Add(2*time.Hour))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			return nil
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		}
		return vector
	}
	all, err := dashboards.All()
	if err != nil || len(all) != 3 {
		t.Fatalf("%d dashboards, %v", len(all), err)
	}
	queries := 0
	for i := range all {
		for _, p := range all[i].Panels {
			for _, target := range p.Targets {
				queries++
				if len(run(variables.Replace(target.Expression))) == 0 {
					t.Errorf("%s: %s: no series for %s", all[i].File, p.Title, target.Expression)
				}
			}
		}
		for _, v := range all[i].Templating.List {
			m := choices.FindStringSubmatch(v.Definition)
			if m == nil {
				continue
			}
			if found := run(variables.Replace(m[1])); len(found) == 0 || found[0].Metric.Get(m[2]) == "" {
				t.Errorf("%s: variable %s: no value for %s", all[i].File, v.Name, v.Definition)
			}
		}
	}
	if queries < 30 {
		t.Errorf("only %d queries", queries)
	}
}

// Some server histograms have no bucket below 5 seconds, so quantiles of faster calls would be wrong.
//
// Proves: L-33.
func TestDashboardQuantilesUseFineHistograms(t *testing.T) {
	fine := map[string]bool{}
	for file := range scraped {
		for line := range strings.Lines(string(readFile(t, "hack", "tools", "packages", "testdata", file))) {
			if m := bound.FindStringSubmatch(line); m != nil {
				if le, err := strconv.ParseFloat(m[2], 64); err == nil && le > 0 && le < 0.1 {
					fine[m[1]] = true
				}
			}
		}
	}
	all, err := dashboards.All()
	framework.NoError(t, err)
	found := 0
	for i := range all {
		for _, p := range all[i].Panels {
			for _, target := range p.Targets {
				for _, m := range quantiles.FindAllStringSubmatch(target.Expression, -1) {
					found++
					if !fine[m[1]] {
						t.Errorf("%s: %s: a quantile of %s, which has no bucket below 0.1", all[i].File, p.Title, m[1])
					}
				}
			}
		}
	}
	if found == 0 || len(fine) < 2 {
		t.Errorf("%d quantiles, %d histograms", found, len(fine))
	}
}

var (
	bound     = regexp.MustCompile(`^(\w+)_bucket\{.*le="([^"]+)"`)
	quantiles = regexp.MustCompile(`histogram_quantile\([^,]+, .*?(\w+)_bucket`)
)

func isCounter(name string) bool {
	return slices.ContainsFunc([]string{"_total", "_bucket", "_count", "_sum"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

func TestRecordingHasEveryOperatorMetric(t *testing.T) {
	text := string(readFile(t, "hack", "tools", "packages", "testdata", "operator.prom"))
	for _, d := range metrics.Definitions(catalog.Lines()) {
		if !strings.Contains(text, "\n# TYPE "+d.Name+" ") {
			t.Errorf("the recording has no %s: record it again", d.Name)
		}
	}
}

// The chart's dashboards equal the files, including Grafana's templates.
func TestChartHasTheDashboards(t *testing.T) {
	all, err := dashboards.All()
	framework.NoError(t, err)
	rendered := render(t, values{"dashboards": values{"enabled": true, "labels": values{"mine": "yes"}}})
	for i := range all {
		cm := rendered["ConfigMap/llama-stack-dashboard-"+strings.TrimSuffix(all[i].File, ".json")]
		if cm == nil {
			t.Errorf("the chart has no ConfigMap of %s", all[i].File)
			continue
		}
		data, _ := cm.Object["data"].(map[string]any)
		if data[all[i].File] != all[i].Text || cm.GetLabels()["mine"] != "yes" || cm.GetLabels()["grafana_dashboard"] != "1" {
			t.Errorf("%s: labels %v, or another text", all[i].File, cm.GetLabels())
		}
		if !json.Valid([]byte(all[i].Text)) || all[i].UID == "" || !strings.HasPrefix(all[i].Title, "llama-stack / ") {
			t.Errorf("%s: %q, %q", all[i].File, all[i].UID, all[i].Title)
		}
	}
}

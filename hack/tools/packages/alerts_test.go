// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/prometheus"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// externalMetrics are the metrics of controller-runtime and the Go runtime that alerts use.
var externalMetrics = []string{"controller_runtime_reconcile_errors_total", "workqueue_queue_duration_seconds_bucket", "go_gc_heap_live_bytes", "go_gc_gomemlimit_bytes"}

// alertCases has two series per alert, with one sample per minute for two hours: one fires, the other almost.
var alertCases = map[string]struct{ fires, silent string }{
	"LlamaStackOperatorAbsent": {"up 1+0x120", "llamastack_rollouts_total 0+0x110 _x10"},
	"LlamaStackDistributionFailed": {
		`llamastack_distributions{phase="Failed",release_line="0.7",pod="a"} 1+0x120`,
		`llamastack_distributions{phase="Failed",release_line="0.7",pod="a"} 1+0x110 0+0x10`,
	},
	"LlamaStackDistributionNotReady": {
		`llamastack_distributions{phase="Initializing",release_line="0.7"} 2+0x120`,
		`llamastack_distributions{phase="Pending",release_line="0.7"} 2+0x120`, // paused, or waiting for a dependency
	},
	"LlamaStackDistributionProblem": {
		`llamastack_distribution_problems{reason="SecretNotFound",severity="Error"} 1+0x120`,
		`llamastack_distribution_problems{reason="NoEffect",severity="Warning"} 1+0x120`,
	},
	"LlamaStackReconcileErrors": {
		`controller_runtime_reconcile_errors_total{controller="llamastackdistribution"} 0+6x120`,
		`controller_runtime_reconcile_errors_total{controller="llamastackdistribution"} 0+1x120`,
	},
	"LlamaStackReconcileSlow": {
		"workqueue_queue_duration_seconds_bucket{name=\"llamastackdistribution\",le=\"10\"} 0+1x120\n  " +
			"workqueue_queue_duration_seconds_bucket{name=\"llamastackdistribution\",le=\"100\"} 0+10x120\n  " +
			"workqueue_queue_duration_seconds_bucket{name=\"llamastackdistribution\",le=\"+Inf\"} 0+10x120",
		"workqueue_queue_duration_seconds_bucket{name=\"llamastackdistribution\",le=\"10\"} 0+10x120\n  " +
			"workqueue_queue_duration_seconds_bucket{name=\"llamastackdistribution\",le=\"+Inf\"} 0+10x120",
	},
	"LlamaStackOperatorMemoryTight": {
		"go_gc_heap_live_bytes{job=\"op\",instance=\"a\"} 100e6+0x120\n  go_gc_gomemlimit_bytes{job=\"op\",instance=\"a\"} 134217728+0x120\n  " +
			"llamastack_rollouts_total{job=\"op\",instance=\"a\",cause=\"Spec\"} 0+0x120",
		// The memory of another program must not fire the alert.
		"go_gc_heap_live_bytes{job=\"op\",instance=\"a\"} 60e6+0x120\n  go_gc_gomemlimit_bytes{job=\"op\",instance=\"a\"} 134217728+0x120\n  " +
			"llamastack_rollouts_total{job=\"op\",instance=\"a\",cause=\"Spec\"} 0+0x120\n  " +
			"go_gc_heap_live_bytes{job=\"other\",instance=\"a\"} 130e6+0x120\n  go_gc_gomemlimit_bytes{job=\"other\",instance=\"a\"} 134217728+0x120",
	},
	"LlamaStackServerUnavailable": {
		// The leader changed in between.
		`llamastack_distribution_unhealthy{condition="Available",namespace="ai",name="a",pod="x"} 1+0x110 _x10` + "\n  " +
			`llamastack_distribution_unhealthy{condition="Available",namespace="ai",name="a",pod="y"} _x110 1+0x10`,
		`llamastack_distribution_unhealthy{condition="Available",namespace="ai",name="a"} 1+0x100 _x5 1+0x15` + "\n  " +
			`llamastack_distribution_unhealthy{condition="StorageReachable",namespace="ai",name="a"} 1+0x120`,
	},
	"LlamaStackServerStorageUnreachable": {
		`llamastack_distribution_unhealthy{condition="StorageReachable",namespace="ai",name="a"} 1+0x120`,
		`llamastack_distribution_unhealthy{condition="Available",namespace="ai",name="a"} 1+0x120`,
	},
	// Requests for health succeed until the end, and a good server does not hide a bad one.
	"LlamaStackServerErrors": {
		ofServer("a", `ogx_requests_total{api="inspect",status_code="200"`, "0+100x120") + ofServer("a", `ogx_requests_total{api="inference",status_code="200"`, "0+10x120") +
			ofServer("a", `ogx_requests_total{api="inference",status_code="500"`, "0+1x120") + ofServer("b", `ogx_requests_total{api="inference",status_code="200"`, "0+1000x120"),
		// Errors of callers, few errors of many, and one error of two requests.
		ofServer("a", `ogx_requests_total{api="inference",status_code="200"`, "0+100x120") + ofServer("a", `ogx_requests_total{api="inference",status_code="400"`, "0+100x120") +
			ofServer("a", `ogx_requests_total{api="inference",status_code="500"`, "0+2x120") +
			ofServer("b", `ogx_requests_total{api="inference",status_code="200"`, "0+0x110 0+1x10") + ofServer("b", `ogx_requests_total{api="inference",status_code="500"`, "0+0x115 1+0x5"),
	},
	"LlamaStackServerSlow": {
		ofServer("a", `ogx_request_duration_seconds_bucket{api="inference",le="25.0"`, "0+7x120") + ofServer("a", `ogx_request_duration_seconds_count{api="inference"`, "0+10x120") +
			ofServer("a", `ogx_request_duration_seconds_bucket{api="inspect",le="25.0"`, "0+90x120") + ofServer("a", `ogx_request_duration_seconds_count{api="inspect"`, "0+90x120"),
		ofServer("a", `ogx_request_duration_seconds_bucket{api="inference",le="25.0"`, "0+8x120") + ofServer("a", `ogx_request_duration_seconds_count{api="inference"`, "0+10x120") +
			ofServer("b", `ogx_request_duration_seconds_bucket{api="inference",le="25.0"`, "0+0x120") + ofServer("b", `ogx_request_duration_seconds_count{api="inference"`, "0+0x120"),
	},
	"LlamaStackReconcilePanics": {"llamastack_reconcile_panics_total 0+0x100 1+0x20", "llamastack_reconcile_panics_total 7+0x120"},
	"LlamaStackServersSilent": {
		"llamastack_server_questions_total{result=\"error\"} 0+20x120\n  llamastack_server_questions_total{result=\"success\"} 0+1x120",
		"llamastack_server_questions_total{result=\"error\"} 0+5x120\n  llamastack_server_questions_total{result=\"success\"} 0+5x120",
	},
	"LlamaStackRegistryFails": {
		"llamastack_registry_questions_total{question=\"image\",result=\"error\"} 0+2x120\n  " +
			"llamastack_registry_questions_total{question=\"digest\",result=\"success\"} 0+1x120",
		"llamastack_registry_questions_total{question=\"image\",result=\"error\"} 0+0x120\n  " +
			"llamastack_registry_questions_total{question=\"digest\",result=\"success\"} 0+0x120",
	},
	"LlamaStackOperatorSettingsInvalid": {
		`llamastack_operator_settings_errors{pod="a"} 1+0x120`,
		`llamastack_operator_settings_errors{pod="a"} 1+0x110 0+0x10`,
	},
	// The evaluation is at 7,200 seconds after 1970.
	"LlamaStackWebhookCertificateExpires": {
		"llamastack_webhook_certificate_expiry_timestamp_seconds{pod=\"a\"} 1210000+0x120\n  " +
			"llamastack_webhook_certificate_expiry_timestamp_seconds{pod=\"b\"} 9999999+0x120",
		"llamastack_webhook_certificate_expiry_timestamp_seconds{pod=\"a\"} 0+0x120\n  " +
			"llamastack_webhook_certificate_expiry_timestamp_seconds{pod=\"b\"} 1300000+0x120",
	},
}

// ofServer returns a series of a server, as the PodMonitor labels it.
func ofServer(name, series, values string) string {
	return series + `,namespace="ai",app_kubernetes_io_instance="` + name + `",pod="` + name + `-1"} ` + values + "\n  "
}

// Prometheus' own engine evaluates the alerts.
//
// Proves: L-33.
func TestAlertsFire(t *testing.T) {
	alerts, err := prometheus.Alerts()
	if err != nil || len(alerts) != len(alertCases) {
		t.Fatalf("%d alerts, %d cases, error %v", len(alerts), len(alertCases), err)
	}
	for i := range alerts {
		a := &alerts[i]
		t.Run(a.Name, func(t *testing.T) {
			c, known := alertCases[a.Name]
			if !known {
				t.Fatal("it has no case")
			}
			if !firing(t, a, c.fires) {
				t.Errorf("it is silent with\n  %s", c.fires)
			}
			if firing(t, a, c.silent) {
				t.Errorf("it fires with\n  %s", c.silent)
			}
			if a.Annotations.Summary == "" || a.Annotations.Description == "" || a.Annotations.Action == "" ||
				!strings.HasSuffix(a.Annotations.Runbook, "/docs/alerts.md#"+strings.ToLower(a.Name)) || !slices.Contains([]string{"critical", "warning"}, a.Labels.Severity) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The chart's alerts equal the manifest's, including Prometheus' templates.
//
// Proves: L-33.
func TestChartHasTheAlerts(t *testing.T) {
	got := render(t, values{"prometheusRule": values{"enabled": true, "labels": values{"release": "prometheus"}}})["PrometheusRule/llama-stack-k8s-operator"]
	if got == nil || got.GetLabels()["release"] != "prometheus" {
		t.Fatalf("%v", got)
	}
	var want map[string]any
	text := strings.ReplaceAll(string(prometheus.Rules()), "llama-stack-k8s-operator-system", got.GetNamespace())
	framework.NoError(t, yaml.Unmarshal([]byte(text), &want))
	if diff := cmp.Diff(want["spec"], got.Object["spec"]); diff != "" {
		t.Errorf("the rules (-config/prometheus +chart):\n%s", diff)
	}
}

// firing reports whether the alert fires at the end of two hours with the series.
func firing(t *testing.T, a *prometheus.Alert, series string) bool {
	t.Helper()
	wait, err := model.ParseDuration(a.For)
	framework.NoError(t, err)
	end := time.Unix(0, 0).Add(2 * time.Hour)
	var times []time.Time
	for at := end.Add(-time.Duration(wait)); !at.After(end); at = at.Add(time.Minute) {
		times = append(times, at)
	}
	return len(evaluate(t, a, series, times...)) == len(times)
}

// evaluate returns the labels of the first series of the alert's expression at each time at which there is one.
func evaluate(t *testing.T, a *prometheus.Alert, series string, times ...time.Time) (found []labels.Labels) {
	t.Helper()
	store := promqltest.LoadedStorage(t, "load 1m\n  "+strings.TrimSpace(series)+"\n")
	t.Cleanup(func() { _ = store.Close() })
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	for _, at := range times {
		query, err := engine.NewInstantQuery(t.Context(), store, nil, a.Expression, at)
		framework.NoError(t, err)
		vector, err := query.Exec(t.Context()).Vector()
		framework.NoError(t, err)
		if len(vector) > 0 {
			found = append(found, vector[0].Metric)
		}
	}
	return found
}

// Proves: L-33.
func TestAlertsUseMetricsThatExist(t *testing.T) {
	known := slices.Clone(externalMetrics)
	for line := range strings.Lines(string(readFile(t, "hack", "tools", "packages", "testdata", "server.prom"))) {
		if m := sample.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			known = append(known, m[1])
		}
	}
	for _, d := range metrics.Definitions(catalog.Lines()) {
		known = append(known, d.Name)
		if d.Type == metrics.Histogram {
			known = append(known, d.Name+"_bucket")
		}
	}
	alerts, err := prometheus.Alerts()
	framework.NoError(t, err)
	for i := range alerts {
		parsed, err := parser.ParseExpr(alerts[i].Expression)
		framework.NoError(t, err)
		for _, selectors := range parser.ExtractSelectors(parsed) {
			for _, m := range selectors {
				if m.Name == model.MetricNameLabel && !slices.Contains(known, m.Value) {
					t.Errorf("%s: no metric %s", alerts[i].Name, m.Value)
				}
			}
		}
	}
}

// The alerts of servers have the labels by which Alertmanager routes, and name the server in their text.
//
// Proves: L-33.
func TestAlertsOfServersNameTheServer(t *testing.T) {
	alerts, err := prometheus.Alerts()
	framework.NoError(t, err)
	found := 0
	for i := range alerts {
		if a := &alerts[i]; strings.HasPrefix(a.Name, "LlamaStackServer") && a.Name != "LlamaStackServersSilent" {
			found++
			for _, labels := range evaluate(t, a, alertCases[a.Name].fires, time.Unix(0, 0).Add(2*time.Hour)) {
				if labels.Get("namespace") != "ai" || labels.Get("name") != "a" || !strings.Contains(a.Annotations.Summary, "{{ $labels.namespace }}/{{ $labels.name }}") {
					t.Errorf("%s: %v: %s", a.Name, labels, a.Annotations.Summary)
				}
			}
		}
	}
	if found != 4 {
		t.Errorf("%d alerts", found)
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

const (
	// reconciler selects the series of the operator's own controller, and operatorJob those of its process.
	reconciler  = `{controller="llamastackdistribution"}`
	queue       = `{name="llamastackdistribution"}`
	operatorJob = `{job=~".*controller-manager-metrics-service"}`
	// requests and seconds are the metrics of servers about requests, and models is that about calls of models.
	requests = "ogx_requests_total"
	seconds  = "ogx_request_duration_seconds"
	models   = "ogx_inference_duration_seconds"
	// chosen selects the server of the variables. serverLabel is what the PodMonitor makes of the label with the name of the custom resource.
	serverLabel = "app_kubernetes_io_instance"
	chosen      = `{namespace="$namespace",` + serverLabel + `="$server"}`
	byServer    = "namespace, " + serverLabel
	ofServer    = "{{namespace}}/{{" + serverLabel + "}}"
)

func all() []dashboard { return []dashboard{fleet(), operator(), server()} }

// rate is the sum of the rates of a counter.
func rate(by, series string) string {
	return "sum by (" + by + ") (rate(" + series + "[$__rate_interval]))"
}

// quantile is a quantile of a histogram, whose name and selector are given.
func quantile(q, by, name, selector string) string {
	return "histogram_quantile(" + q + ", " + rate(strings.TrimPrefix(by+", le", ", "), name+"_bucket"+selector) + ")"
}

// average is the mean of a histogram's values. Servers have no buckets below 5 seconds: there, a quantile would be a number that nothing was measured for.
func average(by, name, selector string) string {
	return rate(by, name+"_sum"+selector) + " / " + rate(by, name+"_count"+selector)
}

// over is the part of a histogram's values that is greater than the bound of a bucket. Servers write it with a fraction.
func over(bound, by, name, selector string) string {
	bucket := strings.TrimSuffix(selector, "}") + `,le="` + bound + `.0"}`
	return "1 - " + rate(by, name+"_bucket"+bucket) + " / " + rate(by, name+"_count"+selector)
}

func operator() dashboard {
	return dashboard{
		file: "operator.json", uid: "llama-stack-operator", title: "llama-stack / operator",
		description: "Activity of the operator. See docs/alerts.md when an alert fires.",
		panels: []panel{
			{title: "Custom resources by phase", outcomes: true, queries: []query{{"sum by (phase) (llamastack_distributions)", "{{phase}}"}}},
			{title: "Custom resources by release line", queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}}},
			{
				title: "Problems", description: "See kubectl llamastack explain REASON.",
				queries: []query{{"sum by (severity, reason) (llamastack_distribution_problems)", "{{severity}}: {{reason}}"}},
			},
			{title: "Reconciles", unit: "ops", outcomes: true, queries: []query{{rate("result", "controller_runtime_reconcile_total"+reconciler), "{{result}}"}}},
			{
				title: "Step duration, 99th percentile", unit: "s", description: "build depends on the operator's CPU, apply on the API server.",
				queries: []query{{quantile("0.99", "step", "llamastack_reconcile_step_duration_seconds", ""), "{{step}}"}},
			},
			{
				title: "Queue latency", unit: "s", description: "How long an edit waits for a reconcile.",
				queries: []query{
					{quantile("0.99", "", "workqueue_queue_duration_seconds", queue), "99 %"}, {quantile("0.5", "", "workqueue_queue_duration_seconds", queue), "50 %"},
				},
			},
			{title: "Queue length", queries: []query{{"max(workqueue_depth" + queue + ")", "custom resources"}}},
			{title: "Rollouts per hour", queries: []query{{"sum(increase(llamastack_rollouts_total[1h]))", "rollouts"}}},
			{
				title: "Requests to the API server", unit: "reqps",
				queries: []query{{rate("code, method", "rest_client_requests_total"+operatorJob), "{{method}} {{code}}"}},
			},
			{
				title: "Server probes", unit: "ops", outcomes: true, description: "Requests for the version, providers and models.",
				queries: []query{{rate("result", "llamastack_server_questions_total"), "{{result}}"}},
			},
			{
				title: "Registry requests per hour",
				queries: []query{
					{"sum by (question, result) (increase(llamastack_registry_questions_total[1h]))", "{{question}}: {{result}}"},
					{"sum by (result) (increase(llamastack_registry_cache_lookups_total[1h]))", "cache: {{result}}"},
				},
			},
			{title: "Memory", unit: "bytes", queries: []query{{"process_resident_memory_bytes" + operatorJob, "{{pod}}"}}},
			{title: "CPU", unit: "short", description: "Cores.", queries: []query{{rate("pod", "process_cpu_seconds_total"+operatorJob), "{{pod}}"}}},
			{
				title: "Webhook certificate expires in", unit: "s", number: &number{bound: 14 * 24 * 60 * 60, goodTop: true},
				description: "The operator renews its own certificate 30 days before expiry.",
				queries:     []query{{"min(llamastack_webhook_certificate_expiry_timestamp_seconds > 0) - time()", ""}},
			},
			{
				title: "Panics and settings errors", number: &number{bound: 1},
				queries: []query{{"sum(llamastack_reconcile_panics_total)", "panics"}, {"max(llamastack_operator_settings_errors)", "settings errors"}},
			},
		},
	}
}

func server() dashboard {
	return dashboard{
		file: "server.json", uid: "llama-stack-server", title: "llama-stack / server",
		description: "One server with spec.monitoring.enabled, from release line 1.2 on.",
		variables: []variable{
			{name: "namespace", label: "namespace", metric: requests}, {name: "server", label: serverLabel, metric: requests + `{namespace="$namespace"}`},
		},
		panels: []panel{
			{title: "Requests", unit: "reqps", queries: []query{{rate("api", requests+chosen), "{{api}}"}}},
			{title: "Requests by status", unit: "reqps", outcomes: true, queries: []query{{rate("status_code", requests+chosen), "{{status_code}}"}}},
			{title: "In-flight requests", queries: []query{{"sum by (pod) (ogx_concurrent_requests" + chosen + ")", "{{pod}}"}}},
			{title: "Average request duration", unit: "s", queries: []query{{average("api", seconds, chosen), "{{api}}"}}},
			{
				title: "Requests slower than 5 s", unit: "percentunit", description: "The smallest bucket of the server's histogram.",
				queries: []query{{over("5", "api", seconds, chosen), "{{api}}"}},
			},
			{
				title:   "Scraped pods",
				queries: []query{{"count(group by (pod) (" + requests + chosen + "))", "pods"}},
			},
			{title: "Model calls", unit: "ops", queries: []query{{rate("model, status", models+"_count"+chosen), "{{model}} {{status}}"}}},
			{
				title: "Average model latency", unit: "s", description: "From the request to the end of the response.",
				queries: []query{{average("model", models, chosen), "{{model}}"}},
			},
			{
				title: "Model calls slower than 10 s", unit: "percentunit",
				queries: []query{{over("10", "model", models, chosen), "{{model}}"}},
			},
			{
				title: "Average time to first token", unit: "s", width: 12, description: "Streamed responses only.",
				queries: []query{{average("model", "ogx_inference_time_to_first_token_seconds", chosen), "{{model}}"}},
			},
			{
				title: "Average tokens per second", unit: "short", width: 12, description: "Per response.",
				queries: []query{{average("model", "ogx_inference_tokens_per_second", chosen), "{{model}}"}},
			},
		},
	}
}

func fleet() dashboard {
	return dashboard{
		file: "fleet.json", uid: "llama-stack-fleet", title: "llama-stack / fleet",
		description: "All servers. The first row shows every server, the others only those with spec.monitoring.enabled.",
		panels: []panel{
			{title: "Ready", number: &number{bound: 1, goodTop: true}, width: 4, queries: []query{{`sum(llamastack_distributions{phase="Ready"})`, ""}}},
			{title: "Not ready", number: &number{bound: 1}, width: 4, queries: []query{{`sum(llamastack_distributions{phase!="Ready"}) or vector(0)`, ""}}},
			{title: "Servers by release line", width: 16, queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}}},
			{title: "Requests", unit: "reqps", queries: []query{{"topk(10, " + rate(byServer, requests) + ")", ofServer}}},
			{
				title: "Failed requests", unit: "percentunit", description: "Share of responses with status 500 and above.",
				queries: []query{{rate(byServer, requests+`{status_code=~"5.."}`) + " / " + rate(byServer, requests), ofServer}},
			},
			{title: "Average request duration", unit: "s", queries: []query{{"topk(10, " + average(byServer, seconds, "") + ")", ofServer}}},
			{title: "Model calls", unit: "ops", queries: []query{{"topk(10, " + rate("model", models+"_count") + ")", "{{model}}"}}},
			{
				title: "Average model latency", unit: "s",
				queries: []query{{"topk(10, " + average("model", models, "") + ")", "{{model}}"}},
			},
			{
				title:   "Scraped pods",
				queries: []query{{"count by (" + byServer + ") (group by (" + byServer + ", pod) (" + requests + "))", ofServer}},
			},
		},
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

const (
	// controllerSelector selects the series of the operator's own controller, and operatorJob those of its process.
	controllerSelector = `{controller="llamastackdistribution"}`
	queueSelector      = `{name="llamastackdistribution"}`
	operatorJob        = `{job=~".*controller-manager-metrics-service"}`
	// requests and requestSeconds are the servers' metrics of requests, inferenceSeconds that of inference.
	requests         = "ogx_requests_total"
	requestSeconds   = "ogx_request_duration_seconds"
	inferenceSeconds = "ogx_inference_duration_seconds"
	// serverSelector selects the server that the variables name. serverLabel is the metric label that the PodMonitor
	// makes from the pod label with the name of the custom resource.
	serverLabel    = "app_kubernetes_io_instance"
	serverSelector = `{namespace="$namespace",` + serverLabel + `="$server"}`
	byServer       = "namespace, " + serverLabel
	serverLegend   = "{{namespace}}/{{" + serverLabel + "}}"
)

func all() []dashboard { return []dashboard{fleet(), operator(), server()} }

// rate returns the expression for the sum of the rates of a counter.
func rate(by, series string) string {
	return "sum by (" + by + ") (rate(" + series + "[$__rate_interval]))"
}

func quantile(q, by, name, selector string) string {
	return "histogram_quantile(" + q + ", " + rate(strings.TrimPrefix(by+", le", ", "), name+"_bucket"+selector) + ")"
}

// average returns the expression for the mean of a histogram's values. Servers have no buckets below 5 seconds, so
// quantiles would be meaningless.
func average(by, name, selector string) string {
	return rate(by, name+"_sum"+selector) + " / " + rate(by, name+"_count"+selector)
}

// shareAbove returns the expression for the share of a histogram's values above the bound of a bucket. Servers write
// bounds with a fraction.
func shareAbove(bound, by, name, selector string) string {
	bucket := strings.TrimSuffix(selector, "}") + `,le="` + bound + `.0"}`
	return "1 - " + rate(by, name+"_bucket"+bucket) + " / " + rate(by, name+"_count"+selector)
}

func operator() dashboard {
	return dashboard{
		file: "operator.json", uid: "llama-stack-operator", title: "llama-stack / operator",
		description: "State and work of the operator. For alerts, see docs/alerts.md.",
		panels: []panel{
			{
				title:          "Custom resources by phase",
				colorByOutcome: true,
				queries:        []query{{"sum by (phase) (llamastack_distributions)", "{{phase}}"}},
			},
			{
				title:   "Custom resources by release line",
				queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}},
			},
			{
				title: "Problems", description: "To resolve one, see kubectl llamastack explain REASON.",
				queries: []query{{"sum by (severity, reason) (llamastack_distribution_problems)", "{{severity}}: {{reason}}"}},
			},
			{
				title:          "Reconciles",
				unit:           "ops",
				colorByOutcome: true,
				queries:        []query{{rate("result", "controller_runtime_reconcile_total"+controllerSelector), "{{result}}"}},
			},
			{
				title: "Reconcile step duration, p99", unit: "s", description: "The step build depends on the CPU of the operator, apply on the API server.",
				queries: []query{{quantile("0.99", "step", "llamastack_reconcile_step_duration_seconds", ""), "{{step}}"}},
			},
			{
				title: "Queue wait time", unit: "s", description: "Time from an event to its reconcile.",
				queries: []query{
					{
						quantile("0.99", "", "workqueue_queue_duration_seconds", queueSelector),
						"p99",
					}, {quantile("0.5", "", "workqueue_queue_duration_seconds", queueSelector), "p50"},
				},
			},
			{title: "Queue length", queries: []query{{"max(workqueue_depth" + queueSelector + ")", "custom resources"}}},
			{title: "Rollouts per hour", queries: []query{{"sum(increase(llamastack_rollouts_total[1h]))", "rollouts"}}},
			{
				title: "Requests to the API server", unit: "reqps",
				queries: []query{{rate("code, method", "rest_client_requests_total"+operatorJob), "{{method}} {{code}}"}},
			},
			{
				title: "Server probes", unit: "ops", colorByOutcome: true, description: "For their version, providers and models.",
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
			{
				title:       "CPU",
				unit:        "short",
				description: "Cores.",
				queries:     []query{{rate("pod", "process_cpu_seconds_total"+operatorJob), "{{pod}}"}},
			},
			{
				title: "Webhook certificate expires in", unit: "s", stat: &stat{threshold: 14 * 24 * 60 * 60, greenAbove: true},
				description: "The operator renews its own certificate 30 days before it expires.",
				queries:     []query{{"min(llamastack_webhook_certificate_expiry_timestamp_seconds > 0) - time()", ""}},
			},
			{
				title: "Panics and errors in settings", stat: &stat{threshold: 1},
				queries: []query{
					{"sum(llamastack_reconcile_panics_total)", "panics"},
					{"max(llamastack_operator_settings_errors)", "errors in settings"},
				},
			},
		},
	}
}

func server() dashboard {
	return dashboard{
		file: "server.json", uid: "llama-stack-server", title: "llama-stack / server",
		description: "One server with spec.monitoring.enabled. Requires release line 1.2 or newer.",
		variables: []variable{
			{
				name:   "namespace",
				label:  "namespace",
				metric: requests,
			}, {name: "server", label: serverLabel, metric: requests + `{namespace="$namespace"}`},
		},
		panels: []panel{
			{title: "Requests", unit: "reqps", queries: []query{{rate("api", requests+serverSelector), "{{api}}"}}},
			{
				title:          "Requests by status",
				unit:           "reqps",
				colorByOutcome: true,
				queries:        []query{{rate("status_code", requests+serverSelector), "{{status_code}}"}},
			},
			{
				title:   "In-flight requests",
				queries: []query{{"sum by (pod) (ogx_concurrent_requests" + serverSelector + ")", "{{pod}}"}},
			},
			{
				title:   "Average request latency",
				unit:    "s",
				queries: []query{{average("api", requestSeconds, serverSelector), "{{api}}"}},
			},
			{
				title: "Requests slower than 5 s", unit: "percentunit", description: "The lowest bucket of the servers' histogram.",
				queries: []query{{shareAbove("5", "api", requestSeconds, serverSelector), "{{api}}"}},
			},
			{
				title:   "Scraped pods",
				queries: []query{{"count(group by (pod) (" + requests + serverSelector + "))", "pods"}},
			},
			{
				title:   "Model requests",
				unit:    "ops",
				queries: []query{{rate("model, status", inferenceSeconds+"_count"+serverSelector), "{{model}} {{status}}"}},
			},
			{
				title: "Average model latency", unit: "s", description: "From the request to the end of the response.",
				queries: []query{{average("model", inferenceSeconds, serverSelector), "{{model}}"}},
			},
			{
				title: "Model responses slower than 10 s", unit: "percentunit",
				queries: []query{{shareAbove("10", "model", inferenceSeconds, serverSelector), "{{model}}"}},
			},
			{
				title: "Average time to first token", unit: "s", width: 12, description: "For streamed responses.",
				queries: []query{{average("model", "ogx_inference_time_to_first_token_seconds", serverSelector), "{{model}}"}},
			},
			{
				title: "Average tokens per second", unit: "short", width: 12, description: "For each response.",
				queries: []query{{average("model", "ogx_inference_tokens_per_second", serverSelector), "{{model}}"}},
			},
		},
	}
}

func fleet() dashboard {
	return dashboard{
		file: "fleet.json", uid: "llama-stack-fleet", title: "llama-stack / fleet",
		description: "All servers. Rows after the first show only servers with spec.monitoring.enabled.",
		panels: []panel{
			{
				title:   "Ready",
				stat:    &stat{threshold: 1, greenAbove: true},
				width:   4,
				queries: []query{{`sum(llamastack_distributions{phase="Ready"})`, ""}},
			},
			{
				title:   "Not ready",
				stat:    &stat{threshold: 1},
				width:   4,
				queries: []query{{`sum(llamastack_distributions{phase!="Ready"}) or vector(0)`, ""}},
			},
			{
				title:   "Servers by release line",
				width:   16,
				queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}},
			},
			{title: "Requests", unit: "reqps", queries: []query{{"topk(10, " + rate(byServer, requests) + ")", serverLegend}}},
			{
				title: "Failed requests", unit: "percentunit", description: "Share of responses with status 500 or above.",
				queries: []query{
					{rate(byServer, requests+`{status_code=~"5.."}`) + " / " + rate(byServer, requests), serverLegend},
				},
			},
			{
				title:   "Average request latency",
				unit:    "s",
				queries: []query{{"topk(10, " + average(byServer, requestSeconds, "") + ")", serverLegend}},
			},
			{
				title:   "Model requests",
				unit:    "ops",
				queries: []query{{"topk(10, " + rate("model", inferenceSeconds+"_count") + ")", "{{model}}"}},
			},
			{
				title: "Average model latency", unit: "s",
				queries: []query{{"topk(10, " + average("model", inferenceSeconds, "") + ")", "{{model}}"}},
			},
			{
				title: "Scraped pods",
				queries: []query{
					{"count by (" + byServer + ") (group by (" + byServer + ", pod) (" + requests + "))", serverLegend},
				},
			},
		},
	}
}

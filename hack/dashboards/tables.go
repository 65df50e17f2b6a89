// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

const (
	// reconciler selects the series of the operator's own controller, and operatorJob those of its process.
	reconciler  = `{controller="llamastackdistribution"}`
	queue       = `{name="llamastackdistribution"}`
	operatorJob = `{job=~".*controller-manager-metrics-service"}`
	// requests and seconds are the metrics of servers about requests.
	requests = "ogx_requests_total"
	seconds  = "ogx_request_duration_seconds"
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

func operator() dashboard {
	return dashboard{
		file: "operator.json", uid: "llama-stack-operator", title: "llama-stack / operator",
		description: "What the operator does. docs/alerts.md says what to do when an alert fires.",
		panels: []panel{
			{title: "Custom resources by phase", unit: "short", queries: []query{{"sum by (phase) (llamastack_distributions)", "{{phase}}"}}},
			{title: "Custom resources by release line", unit: "short", queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}}},
			{
				title: "Problems", unit: "short", description: "kubectl llamastack explain REASON says what to do.",
				queries: []query{{"sum by (severity, reason) (llamastack_distribution_problems)", "{{severity}}: {{reason}}"}},
			},
			{title: "Reconciles", unit: "ops", queries: []query{{rate("result", "controller_runtime_reconcile_total"+reconciler), "{{result}}"}}},
			{
				title: "Time of a step, 99 %", unit: "s", description: "build needs the CPU of the operator, apply the API server.",
				queries: []query{{quantile("0.99", "step", "llamastack_reconcile_step_duration_seconds", ""), "{{step}}"}},
			},
			{
				title: "Time in the queue", unit: "s", description: "How long an edit waits for the operator.",
				queries: []query{
					{quantile("0.99", "", "workqueue_queue_duration_seconds", queue), "99 %"}, {quantile("0.5", "", "workqueue_queue_duration_seconds", queue), "50 %"},
				},
			},
			{title: "Length of the queue", unit: "short", queries: []query{{"max(workqueue_depth" + queue + ")", "custom resources"}}},
			{title: "Rollouts per hour", unit: "short", queries: []query{{"sum(increase(llamastack_rollouts_total[1h]))", "rollouts"}}},
			{
				title: "Requests to the API server", unit: "reqps",
				queries: []query{{rate("code, method", "rest_client_requests_total"+operatorJob), "{{method}} {{code}}"}},
			},
			{
				title: "Questions to servers", unit: "ops", description: "For their version, providers and models.",
				queries: []query{{rate("result", "llamastack_server_questions_total"), "{{result}}"}},
			},
			{
				title: "Questions to registries", unit: "ops",
				queries: []query{{rate("question, result", "llamastack_registry_questions_total"), "{{question}}: {{result}}"}},
			},
			{title: "Memory", unit: "bytes", queries: []query{{"process_resident_memory_bytes" + operatorJob, "{{pod}}"}}},
			{title: "CPU", unit: "short", description: "Cores.", queries: []query{{rate("pod", "process_cpu_seconds_total"+operatorJob), "{{pod}}"}}},
			{
				title: "Certificate of the webhooks expires in", unit: "s", number: true, description: "The operator renews its own 30 days before.",
				queries: []query{{"min(llamastack_webhook_certificate_expiry_timestamp_seconds > 0) - time()", ""}},
			},
			{
				title: "Bugs and errors in settings", unit: "short", number: true,
				queries: []query{{"sum(llamastack_reconcile_panics_total)", "panics"}, {"max(llamastack_operator_settings_errors)", "errors in settings"}},
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
			{title: "Requests by status", unit: "reqps", queries: []query{{rate("status_code", requests+chosen), "{{status_code}}"}}},
			{
				title: "Time of a request", unit: "s",
				queries: []query{{quantile("0.99", "api", seconds, chosen), "{{api}} 99 %"}, {quantile("0.5", "api", seconds, chosen), "{{api}} 50 %"}},
			},
			{title: "Requests at the same time", unit: "short", queries: []query{{"sum by (pod) (ogx_concurrent_requests" + chosen + ")", "{{pod}}"}}},
			{title: "Calls of models", unit: "ops", queries: []query{{rate("model, status", "ogx_inference_duration_seconds_count"+chosen), "{{model}} {{status}}"}}},
			{
				title: "Time of a model", unit: "s", description: "From the request to the end of the answer.",
				queries: []query{{quantile("0.99", "model", "ogx_inference_duration_seconds", chosen), "{{model}} 99 %"}},
			},
			{
				title: "Time to the first token", unit: "s", description: "Of streamed answers.",
				queries: []query{{quantile("0.99", "model", "ogx_inference_time_to_first_token_seconds", chosen), "{{model}} 99 %"}},
			},
			{
				title: "Tokens per second", unit: "short", description: "Of one answer.",
				queries: []query{{quantile("0.5", "model", "ogx_inference_tokens_per_second", chosen), "{{model}} 50 %"}},
			},
			{
				title: "Pods that are scraped", unit: "short",
				queries: []query{{"count(group by (pod) (" + requests + chosen + "))", "pods"}},
			},
		},
	}
}

func fleet() dashboard {
	return dashboard{
		file: "fleet.json", uid: "llama-stack-fleet", title: "llama-stack / fleet",
		description: "All servers. The first row knows every server, the others those with spec.monitoring.enabled.",
		panels: []panel{
			{title: "Ready", unit: "short", number: true, queries: []query{{`sum(llamastack_distributions{phase="Ready"})`, ""}}},
			{title: "Not ready", unit: "short", number: true, queries: []query{{`sum(llamastack_distributions{phase!="Ready"}) or vector(0)`, ""}}},
			{title: "Servers by release line", unit: "short", queries: []query{{"sum by (release_line) (llamastack_distributions)", "{{release_line}}"}}},
			{title: "Requests", unit: "reqps", queries: []query{{"topk(10, " + rate(byServer, requests) + ")", ofServer}}},
			{
				title: "Requests that fail", unit: "percentunit", description: "The share of answers with status 500 and above.",
				queries: []query{{rate(byServer, requests+`{status_code=~"5.."}`) + " / " + rate(byServer, requests), ofServer}},
			},
			{title: "Time of a request, 99 %", unit: "s", queries: []query{{"topk(10, " + quantile("0.99", byServer, seconds, "") + ")", ofServer}}},
			{title: "Calls of models", unit: "ops", queries: []query{{"topk(10, " + rate("model", "ogx_inference_duration_seconds_count") + ")", "{{model}}"}}},
			{
				title: "Time of a model, 99 %", unit: "s",
				queries: []query{{"topk(10, " + quantile("0.99", "model", "ogx_inference_duration_seconds", "") + ")", "{{model}}"}},
			},
			{
				title: "Pods that are scraped", unit: "short",
				queries: []query{{"count by (" + byServer + ") (group by (" + byServer + ", pod) (" + requests + "))", ofServer}},
			},
		},
	}
}

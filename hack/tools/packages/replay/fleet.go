// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

type server struct {
	namespace, name string
	pods            []string
	// load is the maximum number of requests a second, and answer the usual time of a model's response in seconds.
	load, latency float64
	// errorRate returns the share of the requests that fail in a minute.
	errorRate func(minute int) float64
}

var fleet = []server{
	{"search", "assistant", []string{"assistant-6d9c8b7f5-4xk2p", "assistant-6d9c8b7f5-9tqzl"}, 6, 1.8, between(130, 165, 0.12)},
	{"search", "embeddings", []string{"embeddings-7f6d5c4b8-h2vns"}, 9, 0.3, between(0, 0, 0)},
	{"support", "helpdesk", []string{"helpdesk-5b8f9d6c7-m4rtw"}, 2.5, 3.1, between(0, 0, 0)},
	{"support", "helpdesk-staging", []string{"helpdesk-staging-86c5d7f49-qz8xj"}, 0.2, 2.6, between(290, 330, 0.5)},
	{"research", "notebooks", []string{"notebooks-68d7f5b9c-w7lkd"}, 1.2, 6.5, between(0, 0, 0)},
	{"platform", "evaluation", []string{"evaluation-79c6b8d5f-2ngvh"}, 3.5, 4.2, between(0, 0, 0)},
}

// methods have their share of a server's load, and the usual time of those that call no model.
var methods = map[string]struct{ part, seconds float64 }{
	"openai_chat_completion": {part: 0.7}, "create_openai_response": {part: 0.2},
	"list_models": {0.05, 0.02}, "list_providers": {0.01, 0.04}, "version": {0.02, 0.01},
}

// rate returns the number of the series' events a second in a minute.
func (s *server) rate(r *recorded, minute int) float64 {
	busy := s.load / float64(len(s.pods)) * wave(s.name, minute)
	switch errorRate := s.errorRate(minute); {
	case r.labels["method"] == "health":
		return 0.2 // the probes
	case r.labels["status_code"] == "400":
		return busy * 0.004
	case r.labels["status_code"] == "500":
		return busy * methods[r.labels["method"]].part * errorRate
	case r.labels["status_code"] != "":
		return busy * methods[r.labels["method"]].part * (1 - errorRate)
	case r.labels["method"] != "":
		return busy * methods[r.labels["method"]].part
	case r.labels["model"] == "vllm/llama3.2-8b":
		return busy * 0.75
	case r.labels["model"] != "":
		return busy * 0.15
	}
	return 0
}

// median returns the median of a histogram's values in a minute.
func (s *server) median(r *recorded, minute int) float64 {
	slower := 1 + 0.3*wave(s.name, minute) + 4*s.errorRate(minute)
	switch h := r.histogram(); {
	case h == "ogx_inference_tokens_per_second":
		return 60 / slower
	case h == "ogx_inference_time_to_first_token_seconds":
		return 0.15 * s.latency * slower
	case methods[r.labels["method"]].seconds > 0:
		return methods[r.labels["method"]].seconds
	case r.labels["method"] == "health":
		return 0.004
	}
	return s.latency * slower
}

func (s *server) gauge(r *recorded, minute int) float64 {
	if r.name == "ogx_concurrent_requests" && r.labels["api"] == "inference" {
		return float64(int(s.load/float64(len(s.pods))*s.latency*wave(s.name, minute) + noise(s.pods[0], minute)))
	}
	return r.value
}

// between returns a function that is part from one minute to another, and 0 otherwise.
func between(from, to int, part float64) func(int) float64 {
	return func(minute int) float64 {
		if minute >= from && minute < to {
			return part
		}
		return 0
	}
}

// operatorPods has the leader first.
var operatorPods = []string{"llama-stack-k8s-operator-controller-manager-5d7b9c8f6-kx4qz", "llama-stack-k8s-operator-controller-manager-5d7b9c8f6-t8wlm"}

// secretMissing is the time without a Secret, and bulkEdit the time when many custom resources are edited at once.
var (
	secretMissing = between(120, 160, 1)
	bulkEdit      = between(240, 250, 1)
)

// operatorRate returns the number of events a second of a metric of the operator, by its labels.
func operatorRate(r *recorded, minute int) float64 {
	usual, rare := 0.4*wave(r.name, minute)+3*bulkEdit(minute), 0.02*secretMissing(minute)
	switch r.name {
	case "process_cpu_seconds_total":
		return 0.012 + 0.02*usual
	case "rest_client_requests_total":
		byMethod := map[string]float64{"GET": 1, "PATCH": 0.5, "PUT": 0.4, "POST": 0.03, "DELETE": 0.01}
		if r.labels["code"] >= "400" {
			return 0.01 * usual
		}
		return byMethod[r.labels["method"]] * usual
	case "llamastack_server_questions_total":
		if r.labels["result"] == "error" {
			return 0.01 + 5*rare
		}
		return 0.3
	case "llamastack_registry_questions_total":
		if r.labels["result"] == "error" {
			return rare / 10
		}
		if r.labels["question"] == "digest" {
			return 0.003
		}
		return 0.002
	case "llamastack_registry_cache_lookups_total":
		if r.labels["result"] == "miss" {
			return 0.001
		}
		return 0.01 + usual/100
	case "llamastack_reconcile_panics_total":
		return 0
	case "llamastack_rollouts_total":
		if slices.Contains([]int{35, 36, 110, 162, 300}, minute) || bulkEdit(minute) > 0 {
			return 1.0 / 60
		}
		return 0
	}
	switch r.labels["result"] {
	case "error", "requeue", "WaitingForDependency", "Terminal":
		return rare
	case "requeue_after":
		return 0.7 * usual
	}
	return usual
}

// operatorMedian returns the median of the values of a histogram of the operator.
func operatorMedian(r *recorded, minute int) float64 {
	steps := map[string]float64{"gather": 0.021, "build": 0.009, "apply": 0.014, "observe": 0.0014, "prune": 0.0009}
	if seconds := steps[r.labels["step"]]; seconds > 0 {
		return seconds * (1 + bulkEdit(minute))
	}
	return 0.01 + 0.4*bulkEdit(minute)
}

// operatorGauge returns the value of a gauge of the operator.
func operatorGauge(pod string, r *recorded, minute int) float64 {
	switch r.name {
	case "llamastack_distributions":
		return distributionCount(r.labels["phase"], r.labels["release_line"], minute)
	case "llamastack_distribution_problems":
		if r.labels["reason"] == "SecretNotFound" {
			return secretMissing(minute)
		}
		return 2
	case "llamastack_webhook_certificate_expiry_timestamp_seconds":
		return float64(begin.AddDate(0, 0, 61).Unix())
	case "process_resident_memory_bytes":
		return 62e6 + 6e6*wave(pod, minute) + 1e6*noise(pod, minute)
	case "workqueue_depth":
		return float64(int(12 * bulkEdit(minute) * wave(r.name, minute)))
	}
	return r.value
}

// distributionCount returns the number of custom resources: one waits for its Secret, and an edit replaces the pods of
// some.
func distributionCount(phase, line string, minute int) float64 {
	switch {
	case phase == "Pending":
		return secretMissing(minute)
	case phase == "Initializing":
		return 4 * bulkEdit(minute)
	case line == "1.5":
		return 9 - secretMissing(minute) - 4*bulkEdit(minute)
	case line == "1.2":
		return 4
	}
	return 2
}

// extraSeries are series of the operator that the recorded scrape lacks because their events had not happened yet.
var extraSeries = []recorded{
	{name: "llamastack_distributions", labels: map[string]string{"phase": "Ready", "release_line": "1.5"}},
	{name: "llamastack_distributions", labels: map[string]string{"phase": "Ready", "release_line": "1.2"}},
	{name: "llamastack_distribution_problems", labels: map[string]string{"severity": "Error", "reason": "SecretNotFound"}},
	{name: "llamastack_distribution_problems", labels: map[string]string{"severity": "Warning", "reason": "Unprotected"}},
	{name: "llamastack_registry_questions_total", labels: map[string]string{"question": "image", "result": "success"}},
	{name: "llamastack_registry_questions_total", labels: map[string]string{"question": "digest", "result": "success"}},
	{name: "llamastack_server_questions_total", labels: map[string]string{"result": "error"}},
	{name: "rest_client_requests_total", labels: map[string]string{"code": "200", "method": "DELETE"}},
	{name: "rest_client_requests_total", labels: map[string]string{"code": "409", "method": "PATCH"}},
}

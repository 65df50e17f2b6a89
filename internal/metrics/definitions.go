// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Type is a Prometheus metric type.
type Type string

// Metric types.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Label is a label of a metric. Values are all of its values; none means the names of custom resources.
type Label struct {
	Name   string
	Values []string
}

// Definition is one metric of the operator.
type Definition struct {
	Name string
	Type Type
	// Help is the description, with the unit.
	Help   string
	Labels []Label
}

// Unknown is the release line of custom resources whose server is not known yet.
const Unknown = "unknown"

// The steps of a reconcile that are timed.
const (
	StepGather  = "gather"
	StepBuild   = "build"
	StepApply   = "apply"
	StepPrune   = "prune"
	StepObserve = "observe"
)

// Kinds of requests to a registry.
const (
	RegistryDigest = "digest"
	RegistryImage  = "image"
	RegistryFile   = "file"
)

// Results of a step, a request or a lookup.
const (
	Succeeded = "success"
	Failed    = "error"
	hit       = "hit"
	miss      = "miss"
)

var (
	distributions = Definition{
		Name: "llamastack_distributions", Type: Gauge, Help: "LlamaStackDistributions by phase and by the release line of " +
			"their server.",
		Labels: []Label{{"phase", phases()}, {"release_line", []string{Unknown}}},
	}
	problems = Definition{
		Name: "llamastack_distribution_problems", Type: Gauge, Help: "LlamaStackDistributions with a problem of this reason.",
		Labels: []Label{{"reason", reasons()}, {"severity", []string{string(problem.Error), string(problem.Warning)}}},
	}
	unhealthy = Definition{
		Name: "llamastack_distribution_unhealthy", Type: Gauge,
		Help: "1 for each LlamaStackDistribution whose server should run, but whose condition Available or " +
			"StorageReachable is False. Others have no series, and at most 1,000 are named.",
		Labels: []Label{{"namespace", nil}, {"name", nil},
			{"condition", []string{v1alpha2.ConditionAvailable, v1alpha2.ConditionStorageReachable}}},
	}
	steps = Definition{
		Name: "llamastack_reconcile_step_duration_seconds", Type: Histogram,
		Help: "Duration of the steps of a reconcile, in seconds; the step build generates the configuration and the " +
			"objects. The result is success, or the class of the first problem that the step found.",
		Labels: []Label{
			{"step", []string{StepGather, StepBuild, StepApply, StepPrune, StepObserve}},
			{"result", []string{Succeeded, string(problem.Terminal), string(problem.WaitingForDependency),
				string(problem.Transient)}},
		},
	}
	rollouts = Definition{Name: "llamastack_rollouts_total", Type: Counter, Help: "Pod templates written by the " +
		"operator, including those of new servers."}
	servers = Definition{
		Name: "llamastack_server_questions_total", Type: Counter, Help: "Probes of running servers for their version and " +
			"providers.",
		Labels: []Label{{"result", []string{Succeeded, Failed}}},
	}
	registries = Definition{
		Name: "llamastack_registry_questions_total", Type: Counter,
		Help: "Registry requests by kind: the digest of a tag, the labels of an image, or a file of a layer.",
		Labels: []Label{{"question", []string{RegistryDigest, RegistryImage, RegistryFile}},
			{"result", []string{Succeeded, Failed}}},
	}
	lookups = Definition{
		Name: "llamastack_registry_cache_lookups_total", Type: Counter,
		Help: "Lookups of image labels and files in the cache of registry results. After a hit, the reconcile does not " +
			"wait for a registry.",
		Labels: []Label{{"result", []string{hit, miss}}},
	}
	expiry = Definition{
		Name: "llamastack_webhook_certificate_expiry_timestamp_seconds", Type: Gauge,
		Help: "Expiry of the webhooks' serving certificate, in seconds since 1970; zero without a certificate.",
	}
	migrated = Definition{
		Name: "llamastack_storage_migration_rewritten_total", Type: Counter,
		Help: "LlamaStackDistributions that were rewritten from an older stored API version.",
	}
	settingsErrors = Definition{
		Name: "llamastack_operator_settings_errors", Type: Gauge,
		Help: "Errors in the operator's settings and in registered distributions. Events on their ConfigMaps have the " +
			"details.",
	}
	panicked = Definition{
		Name: "llamastack_reconcile_panics_total", Type: Counter,
		Help: "Panics in reconciles, probes, registry requests and cache reads. Each is a bug.",
	}
)

// Definitions returns all of the operator's own metrics, for these release lines of servers.
func Definitions(releaseLines []string) []Definition {
	byLine := distributions
	byLine.Labels = []Label{distributions.Labels[0], {"release_line", slices.Concat(releaseLines, []string{Unknown})}}
	return []Definition{byLine, problems, unhealthy, steps, rollouts, servers, registries, lookups, expiry, migrated,
		settingsErrors, panicked}
}

func phases() (all []string) {
	for _, p := range []v1alpha2.DistributionPhase{
		v1alpha2.PhasePending, v1alpha2.PhaseInitializing, v1alpha2.PhaseReady, v1alpha2.PhaseFailed,
		v1alpha2.PhaseTerminating,
	} {
		all = append(all, string(p))
	}
	return all
}

func reasons() (all []string) {
	for _, row := range problem.Rows() {
		all = append(all, string(row.Reason))
	}
	return all
}

func (d *Definition) names() (all []string) {
	for _, l := range d.Labels {
		all = append(all, l.Name)
	}
	return all
}

func (d *Definition) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.Help, d.names(), nil)
}

func (d *Definition) counter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.names())
}

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

// Label is a label of a metric.
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
		Name: "llamastack_distribution_problems", Type: Gauge, Help: "LlamaStackDistributions that have a problem with " +
			"this reason.",
		Labels: []Label{{"reason", reasons()}, {"severity", []string{string(problem.Error), string(problem.Warning)}}},
	}
	steps = Definition{
		Name: "llamastack_reconcile_step_duration_seconds", Type: Histogram,
		Help: "How long the steps of reconciles took; the step build generates the configuration and the objects. " +
			"The result is success, or the class of the first problem that the step found.",
		Labels: []Label{
			{"step", []string{StepGather, StepBuild, StepApply, StepPrune, StepObserve}},
			{"result", []string{Succeeded, string(problem.Terminal), string(problem.WaitingForDependency),
				string(problem.Transient)}},
		},
	}
	rollouts = Definition{Name: "llamastack_rollouts_total", Type: Counter, Help: "New pod templates that the operator " +
		"wrote, those of new servers included."}
	servers = Definition{
		Name: "llamastack_server_questions_total", Type: Counter, Help: "Questions to running servers for their version " +
			"and providers.",
		Labels: []Label{{"result", []string{Succeeded, Failed}}},
	}
	registries = Definition{
		Name: "llamastack_registry_questions_total", Type: Counter,
		Help: "Questions to registries: for the digest of a tag, for the labels of an image, for a file of a layer.",
		Labels: []Label{{"question", []string{RegistryDigest, RegistryImage, RegistryFile}},
			{"result", []string{Succeeded, Failed}}},
	}
	lookups = Definition{
		Name: "llamastack_registry_cache_lookups_total", Type: Counter,
		Help: "Lookups of labels and files of images in what registries have answered. A hit has an answer, and the " +
			"reconcile does not wait for a registry.",
		Labels: []Label{{"result", []string{hit, miss}}},
	}
	expiry = Definition{
		Name: "llamastack_webhook_certificate_expiry_timestamp_seconds", Type: Gauge,
		Help: "When the certificate that the webhooks serve expires, in seconds since 1970; zero while there is none.",
	}
	migrated = Definition{
		Name: "llamastack_storage_migration_rewritten_total", Type: Counter,
		Help: "LlamaStackDistributions that were rewritten because they were stored in an older version of the API.",
	}
	settingsErrors = Definition{
		Name: "llamastack_operator_settings_errors", Type: Gauge,
		Help: "Errors in the operator's settings and in registered distributions. Events on their ConfigMaps say what is " +
			"wrong.",
	}
	panicked = Definition{
		Name: "llamastack_reconcile_panics_total", Type: Counter,
		Help: "Reconciles of LlamaStackDistributions, questions to servers and registries, and reads for the caches, that " +
			"panicked. Each is a bug.",
	}
)

// Definitions returns all of the operator's own metrics, for these release lines of servers.
func Definitions(releaseLines []string) []Definition {
	byLine := distributions
	byLine.Labels = []Label{distributions.Labels[0], {"release_line", slices.Concat(releaseLines, []string{Unknown})}}
	return []Definition{byLine, problems, steps, rollouts, servers, registries, lookups, expiry, migrated,
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

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

const (
	pathMonitoring        = "spec.monitoring"
	pathMonitoringEnabled = pathMonitoring + ".enabled"
	pathMetricsPort       = pathMonitoring + ".metricsPort"
)

// metricsVariables returns the prefixes of variables for metrics: the release line's, or all if it is unknown.
func metricsVariables(line *catalog.Line) []string {
	return variablesOf(line, func(l *catalog.Line) string { return l.MetricsEnv })
}

// checkMonitoring reports metrics that the server does not serve.
func (r *report) checkMonitoring(in *Inputs, line *catalog.Line) {
	spec := &in.CR.Spec
	port := objects.MetricsPort(spec)
	if port == 0 {
		if spec.Monitoring != nil && spec.Monitoring.MetricsPort != nil {
			r.warn(problem.NoEffect, pathMetricsPort, "has no effect while monitoring is not enabled",
				"set "+pathMonitoringEnabled+": true, or remove it")
		}
		return
	}
	reject := func(reason problem.Reason, path string, value any, detail, fix string) {
		r.Add(problem.Problem{Reason: reason, Path: path, Type: field.ErrorTypeForbidden, Value: value, Detail: detail,
			Fix: fix})
	}
	if line != nil && line.MetricsEnv == "" {
		reject(problem.UnsupportedByRelease, pathMonitoringEnabled, true, "servers of release line "+line.Name+" serve no "+
			"metrics",
			"remove it, or send metrics to a collector with spec.providers.telemetry"+
				release.OtherLines(func(l *catalog.Line) bool { return l.MetricsEnv != "" }))
	}
	if port == objects.Port(spec) {
		reject(problem.ConflictingFields, pathMetricsPort, port, "the server itself listens on this port "+
			"(spec.networking.port)", "choose another port")
	}
	if w := spec.Workload; w != nil && ptr.Deref(w.Workers, 1) > 1 {
		reject(problem.ConflictingFields, pathMonitoringEnabled, true,
			fmt.Sprintf("each of the %d workers would listen on the metrics port, but only one can", *w.Workers),
			"set spec.workload.workers to 1 and use more replicas, or send metrics to a collector with spec.providers.telemetry")
	}
}

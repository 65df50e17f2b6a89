// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
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

// metricsPort returns the server's metrics port, or 0 without metrics. own is the user's configuration, or nil.
func (in *Inputs) metricsPort(own *serverconfig.Override) int32 {
	m := ptr.Deref(in.CR.Spec.Monitoring, v1alpha2.MonitoringSpec{})
	if m.Enabled == nil && !in.hasMetricsByDefault(own) || m.Enabled != nil && !*m.Enabled {
		return 0
	}
	return ptr.Deref(m.MetricsPort, v1alpha2.DefaultMetricsPort)
}

// hasMetricsByDefault reports whether the server serves metrics although the spec does not ask for them. It must not
// make a server fail that runs without them. A server that another build of the operator made gets them with its next
// edit, as hold keeps it until then. Servers of v1alpha1 stay as they are.
func (in *Inputs) hasMetricsByDefault(own *serverconfig.Override) bool {
	line, spec := in.distribution().Line, &in.CR.Spec
	if in.Legacy.FromV1alpha1 || line == nil || line.MetricsEnv == "" || in.decidesOnStart(line) {
		return false
	}
	if spec.Monitoring == nil || spec.Monitoring.MetricsPort == nil { // a taken port of the user's own is an error
		port := v1alpha2.DefaultMetricsPort
		if port == objects.Port(spec) || objects.UsesPort(spec, port) {
			return false
		}
	}
	return !objects.UsesPortName(spec, objects.MetricsPortName) && in.hasOneWorker(own)
}

// decidesOnStart reports whether the user decides how the server starts, and so perhaps on workers or metrics.
func (in *Inputs) decidesOnStart(line *catalog.Line) bool {
	if in.CR.Spec.Workload == nil || in.CR.Spec.Workload.Overrides == nil {
		return false
	}
	o := in.CR.Spec.Workload.Overrides
	var given []string
	for i := range o.Env {
		given = append(given, o.Env[i].Name)
	}
	for i := range o.EnvFrom {
		given = append(given, envFromVariables(in, &o.EnvFrom[i], i)...)
	}
	return len(o.Command)+len(o.Args) > 0 || slices.ContainsFunc(given, func(name string) bool {
		return strings.HasPrefix(name, line.MetricsEnv+"_") || strings.HasSuffix(name, "_WORKERS")
	})
}

// hasOneWorker reports whether the server is known to run with one worker.
func (in *Inputs) hasOneWorker(own *serverconfig.Override) bool {
	if _, named := in.OverrideRef(); named {
		return own == nil || slices.Contains([]string{"", "1"}, own.Workers)
	}
	if w := in.CR.Spec.Workload; w != nil && w.Workers != nil {
		return *w.Workers <= 1
	}
	base := in.distribution().Base
	if base == nil {
		return false
	}
	workers := document.Given(document.Child(document.Child(base.Root(), "server"), "workers"))
	return cmp.Or(workers, "1") == "1"
}

// checkMonitoring reports metrics that the server does not serve.
func (r *report) checkMonitoring(in *Inputs, line *catalog.Line, port int32) {
	spec := &in.CR.Spec
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

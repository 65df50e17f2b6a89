// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// Proves: L-33, L-10, R25 (the server gets the variables of its release line, or those of all lines if it is unknown).
func TestMonitoring(t *testing.T) {
	const (
		old     = "distribution: {name: starter}\n"
		serves  = "distribution: {image: 'docker.io/llamastack/distribution-starter:1.2.5'}\n"
		unknown = "distribution: {image: 'registry.example/mine:latest'}\n"
		on      = "OGX_METRICS_ENDPOINT_ENABLED=true OGX_METRICS_HOST=0.0.0.0 OGX_METRICS_PORT="
	)
	for name, c := range map[string]struct{ spec, want, problem string }{
		"not asked for":      {serves, "", ""},
		"off":                {serves + "monitoring: {enabled: false}", "", ""},
		"on":                 {serves + "monitoring: {enabled: true}", on + "9464", ""},
		"another port":       {serves + "monitoring: {enabled: true, metricsPort: 9000}", on + "9000", ""},
		"beside an override": {serves + "overrideConfig: {configMapName: mine}\nmonitoring: {enabled: true}", on + "9464", ""},
		"unknown line":       {unknown + "monitoring: {enabled: true}", on + "9464", ""},
		"port without effect": {
			serves + "monitoring: {metricsPort: 9000}", "", "spec.monitoring.metricsPort: has no effect while monitoring is not enabled",
		},
		"older line": {
			old + "monitoring: {enabled: true}", "",
			"spec.monitoring.enabled: Forbidden: servers of release line 0.7 serve no metrics: remove it, or send metrics to a collector with " +
				"spec.providers.telemetry; or use a server of release lines 1.2 and newer",
		},
		"the server's port": {
			serves + "networking: {port: 9464}\nmonitoring: {enabled: true}", "",
			"spec.monitoring.metricsPort: Forbidden: the server itself listens on this port (spec.networking.port): choose another port",
		},
		"workers": {
			serves + "workload: {workers: 3}\nmonitoring: {enabled: true}", "",
			"spec.monitoring.enabled: Forbidden: each of the 3 workers would listen on the metrics port, but only one can",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputsOf(t, c.spec, "")
			built, problems := Build(t.Context(), in)
			if got := fmt.Sprint(problems); !strings.Contains(got, c.problem) || c.problem == "" && strings.Contains(got, "spec.monitoring") {
				t.Errorf("reported %s, want %q", got, c.problem)
			}
			var got []string
			ports := 0
			for _, o := range built.Objects {
				if d, ok := o.(*appsv1.Deployment); ok {
					for _, v := range d.Spec.Template.Spec.Containers[0].Env {
						if strings.Contains(v.Name, "_METRICS_") {
							got = append(got, v.Name+"="+v.Value)
						}
					}
					ports = len(d.Spec.Template.Spec.Containers[0].Ports)
				}
			}
			if strings.Join(got, " ") != c.want || c.want != "" && ports != 2 {
				t.Errorf("%d ports, variables %s, want %s", ports, got, c.want)
			}
		})
	}
}

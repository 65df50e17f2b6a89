// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Proves: L-33, L-10, R25 (the server gets the variables of its release line, or those of all lines if it is unknown).
func TestMonitoring(t *testing.T) {
	const (
		old     = "distribution: {name: starter}\n"
		serves  = "distribution: {image: 'docker.io/llamastack/distribution-starter:1.2.5'}\n"
		unknown = "distribution: {image: 'registry.example/mine:latest'}\n"
		workers = serves + "overrideConfig: {configMapName: workers}\n"
		on      = "OGX_METRICS_ENDPOINT_ENABLED=true OGX_METRICS_HOST=0.0.0.0 OGX_METRICS_PORT="
	)
	for name, c := range map[string]struct{ spec, want, problem string }{
		"by default":                    {serves, on + "9464", ""},
		"only a port":                   {serves + "monitoring: {metricsPort: 9000}", on + "9000", ""},
		"off":                           {serves + "monitoring: {enabled: false}", "", ""},
		"on":                            {serves + "monitoring: {enabled: true}", on + "9464", ""},
		"another port":                  {serves + "monitoring: {enabled: true, metricsPort: 9000}", on + "9000", ""},
		"beside an override":            {serves + "overrideConfig: {configMapName: mine}\nmonitoring: {enabled: true}", on + "9464", ""},
		"unknown line":                  {unknown + "monitoring: {enabled: true}", on + "9464", ""},
		"older line by default":         {old, "", ""},
		"unknown line by default":       {unknown, "", ""},
		"workers by default":            {serves + "workload: {workers: 3}", "", ""},
		"workers in the user's file":    {workers, "", ""},
		"one worker in the user's file": {serves + "overrideConfig: {configMapName: single}", on + "9464", ""},
		"the server's port by default":  {serves + "networking: {port: 9464}", "", ""},
		"a command":                     {serves + "workload: {overrides: {command: [ogx]}}", "", ""},
		"workers in a variable": {
			serves + "workload: {overrides: {env: [{name: OGX_WORKERS, value: '3'}]}}", "", "",
		},
		"the user's own metrics": {
			serves + "workload: {overrides: {env: [{name: OGX_METRICS_HOST, value: '::'}]}}", "OGX_METRICS_HOST=::", "",
		},
		"a sidecar with the port": {
			serves + "workload: {overrides: {sidecars: [{name: a, image: b, ports: [{containerPort: 9464}]}]}}", "", "",
		},
		"a sidecar with the name of the port": {
			serves + "workload: {overrides: {sidecars: [{name: a, image: b, ports: [{name: metrics, containerPort: 1}]}]}}", "", "",
		},
		"port without effect": {
			serves + "monitoring: {enabled: false, metricsPort: 9000}", "", "spec.monitoring.metricsPort: has no effect while monitoring is not enabled",
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
			if in.Override != nil && in.Override.Ref.Name == "single" {
				findOverride(t, in, complete)
			}
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
			if strings.Join(got, " ") != c.want || strings.HasPrefix(c.want, on) && ports != 2 {
				t.Errorf("%d ports, variables %s, want %s", ports, got, c.want)
			}
		})
	}
}

// Proves: L-33, R48 (metrics by default change nothing for servers of v1alpha1, and cause no rollout at an upgrade of the
// operator: the next edit brings them).
func TestMetricsByDefaultRestartNothing(t *testing.T) {
	const spec = "distribution: {image: 'docker.io/llamastack/distribution-starter:1.2.5'}\n"
	in := inputsOf(t, spec, fromV1alpha1)
	if in.Legacy = v1alpha2.Legacy(in.CR); in.metricsPort(nil) != 0 {
		t.Error("a server of v1alpha1 serves metrics")
	}
	in = inputsOf(t, spec+"monitoring: {enabled: false}", "")
	before, problems := Build(t.Context(), in)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	live := deploymentIn(before.Objects)
	in = inputsOf(t, spec, "")
	live.Annotations[names.AnnotationInputHash] = inputHash(in) // as an operator without the default made it
	live.Annotations[names.AnnotationBuild] = "older"
	in.Live = live
	if held, problems := Build(t.Context(), in); problems.HasErrors() || deploymentIn(held.Objects) != nil || held.HeldBuild != "older" {
		t.Errorf("after an upgrade of the operator, the Deployment is %v, %v", deploymentIn(held.Objects), problems)
	}
	in = inputsOf(t, spec+"workload: {terminationGracePeriodSeconds: 31}", "")
	in.Live = live
	edited, problems := Build(t.Context(), in)
	if d := deploymentIn(edited.Objects); problems.HasErrors() || d == nil || len(d.Spec.Template.Spec.Containers[0].Ports) != 2 {
		t.Errorf("after an edit, the Deployment is %v, %v", d, problems)
	}
}

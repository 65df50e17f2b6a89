// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: L-33, FR-066 (the PodMonitor uses the named port, which namespaces with access to the operator's metrics can
// reach).
func TestMetricsPort(t *testing.T) {
	closed := "networking: {allowedFrom: {namespaces: [a]}}"
	before := objects.NetworkPolicy(workload(t, closed)).Spec.Ingress
	p := workload(t, closed+"\nmonitoring: {enabled: true, metricsPort: 9000}")
	pod := objects.Deployment(p).Spec.Template
	ports := pod.Spec.Containers[0].Ports
	if len(ports) != 2 || ports[0].Name != names.ServicePortName || ports[1].Name != objects.MetricsPortName || ports[1].ContainerPort != 9000 {
		t.Errorf("ports %+v", ports)
	}
	rules := objects.NetworkPolicy(p).Spec.Ingress
	if len(rules) != 2 || len(rules[0].From) != len(before[0].From) || rules[0].Ports[0].Port.IntVal != 8321 {
		t.Fatalf("rules %+v", rules)
	}
	if from := rules[1].From; len(from) != 1 || from[0].NamespaceSelector.MatchLabels["metrics"] != "enabled" || rules[1].Ports[0].Port.IntVal != 9000 {
		t.Errorf("rule %+v", rules[1])
	}

	text, err := os.ReadFile("../../../config/prometheus/servers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		Spec struct {
			Selector            struct{ MatchLabels map[string]string }
			PodTargetLabels     []string
			PodMetricsEndpoints []struct{ Port string }
		}
	}
	if err := yaml.Unmarshal(text, &monitor); err != nil {
		t.Fatal(err)
	}
	for key, value := range monitor.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			t.Errorf("the PodMonitor wants %s=%s, the pods have %v", key, value, pod.Labels)
		}
	}
	for _, key := range monitor.Spec.PodTargetLabels {
		if pod.Labels[key] != p.CR.Name {
			t.Errorf("the pods have no label %s with the name", key)
		}
	}
	if len(monitor.Spec.Selector.MatchLabels) != 2 || monitor.Spec.PodMetricsEndpoints[0].Port != objects.MetricsPortName {
		t.Errorf("%+v", monitor)
	}
}

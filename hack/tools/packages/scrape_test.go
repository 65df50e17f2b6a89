// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	_ "github.com/prometheus/prometheus/discovery/kubernetes" // registers kubernetes_sd_configs
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/util/strutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/prometheus"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The scrape configuration of the page is valid for Prometheus, and its relabeling keeps exactly the metrics ports of
// servers and of the operator, with the labels that dashboards and alerts use.
//
// Proves: L-33.
func TestScrapeConfigurationOfThePage(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text := ""
	for _, b := range framework.CodeBlocks(t, filepath.Join(root, "docs", "monitoring.md")) {
		if strings.HasPrefix(b.Text, "scrape_configs:") {
			text = b.Text
		}
	}
	loaded, err := config.Load(text, promslog.NewNopLogger())
	framework.NoError(t, err)
	jobs, err := loaded.GetScrapeConfigs()
	framework.NoError(t, err)
	if len(jobs) != 2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	servers, operator := jobs[0], jobs[1]
	server := podOf(t, readFile(t, "internal", "plugin", "testdata", "samples", "v1alpha2-simple.yaml"), "my-stack")
	manager := podOf(t, readFile(t, "dist", "install.yaml"), "llama-stack-k8s-operator-controller-manager")
	for name, c := range map[string]struct {
		job  *config.ScrapeConfig
		pod  *corev1.PodTemplateSpec
		want map[string]string
	}{
		"server": {servers, server, map[string]string{
			"__address__": "192.0.2.1:9464", "namespace": "ai", "pod": "pod-1", "app_kubernetes_io_instance": "my-stack",
		}},
		"operator":               {operator, manager, map[string]string{"__address__": "192.0.2.1:8443", "namespace": "ai", "pod": "pod-1"}},
		"operator as server":     {servers, manager, nil},
		"server as operator":     {operator, server, nil},
		"pod of another program": {servers, &corev1.PodTemplateSpec{Spec: server.Spec}, nil},
	} {
		var kept []map[string]string
		for i := range c.pod.Spec.Containers[0].Ports {
			if l, keep := relabel.Process(discovered(c.pod, &c.pod.Spec.Containers[0].Ports[i], "Running"), c.job.RelabelConfigs...); keep {
				got := l.Map()
				maps.DeleteFunc(got, func(key, _ string) bool { return strings.HasPrefix(key, "__meta_") })
				kept = append(kept, got)
			}
			if _, keep := relabel.Process(discovered(c.pod, &c.pod.Spec.Containers[0].Ports[i], "Failed"), servers.RelabelConfigs...); keep {
				t.Errorf("%s: a pod that ended is scraped", name)
			}
		}
		if c.want == nil && len(kept) > 0 || c.want != nil && (len(kept) != 1 || !maps.Equal(kept[0], c.want)) {
			t.Errorf("%s: %v, want %v", name, kept, c.want)
		}
	}
	if !operator.HonorLabels || operator.Scheme != "https" || servers.Scheme != "http" || servers.MetricsPath != "/metrics" {
		t.Errorf("%+v", jobs)
	}
}

// The part of the PrometheusRule that the page names is a rule file of Prometheus.
//
// Proves: L-33.
func TestRulesAreARuleFile(t *testing.T) {
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	framework.NoError(t, yaml.Unmarshal(prometheus.Rules(), &rule))
	text, err := yaml.Marshal(rule.Spec)
	framework.NoError(t, err)
	if _, problems := rulefmt.Parse(text, false, model.UTF8Validation); len(problems) > 0 {
		t.Error(problems)
	}
}

// discovered returns the labels that Prometheus' discovery of pods gives to a port.
func discovered(pod *corev1.PodTemplateSpec, port *corev1.ContainerPort, phase string) labels.Labels {
	meta := map[string]string{
		"__address__": "192.0.2.1:" + strconv.Itoa(int(port.ContainerPort)), "__meta_kubernetes_namespace": "ai",
		"__meta_kubernetes_pod_name": "pod-1", "__meta_kubernetes_pod_phase": phase,
		"__meta_kubernetes_pod_container_port_name": port.Name,
	}
	for key, value := range pod.Labels {
		meta["__meta_kubernetes_pod_label_"+strutil.SanitizeLabelName(key)] = value
	}
	return labels.FromMap(meta)
}

// podOf returns the pod template of a Deployment in a manifest.
func podOf(t *testing.T, manifest []byte, name string) *corev1.PodTemplateSpec {
	t.Helper()
	for document := range strings.SplitSeq("\n"+string(manifest), "\n---\n") {
		var d appsv1.Deployment
		if !strings.Contains(document, "kind: Deployment") || yaml.Unmarshal([]byte(document), &d) != nil {
			continue
		}
		if d.Kind == "Deployment" && d.Name == name {
			return &d.Spec.Template
		}
	}
	t.Fatalf("no Deployment %s", name)
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: R27, FR-022, FR-032, L-15 (the environment configures the image, whose entrypoint stays).
func TestEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		params *objects.Params
		want   map[string]string
	}{
		"generated": {simple(t), map[string]string{
			"HOME": "/", "HF_HOME": "/.llama", "SQLITE_STORE_DIR": "/.llama/distributions/starter",
			"LLAMA_STACK_CONFIG_DIR": "/.llama", "FILES_STORAGE_DIR": "/.llama/distributions/starter/files", "MILVUS_DB_PATH": "/.llama/distributions/starter",
			"LLAMA_STACK_PORT": "8321", "RUN_CONFIG_PATH": "/etc/llama-stack/config.yaml", "LLSD_VLLM_API_KEY": "vllm-creds/token",
		}},
		"image's own configuration": {
			with(t, func(p *objects.Params) { p.Config, p.Env, p.SecretsHash = nil, nil, "" }),
			map[string]string{
				"HOME": "/", "HF_HOME": "/.llama", "SQLITE_STORE_DIR": "/.llama/distributions/starter", "LLAMA_STACK_PORT": "8321",
				"LLAMA_STACK_CONFIG_DIR": "/.llama", "FILES_STORAGE_DIR": "/.llama/distributions/starter/files", "MILVUS_DB_PATH": "/.llama/distributions/starter",
			},
		},
		"unknown distribution and line": {
			with(t, func(p *objects.Params) {
				p.Config, p.Env, p.StateDir, p.PortVariables = nil, nil, "", []string{"LLAMA_STACK_PORT", "OGX_PORT"}
				p.HomeVariables = []string{"LLAMA_STACK_CONFIG_DIR", "OGX_CONFIG_DIR"}
			}),
			map[string]string{
				"HOME": "/", "HF_HOME": "/.llama", "LLAMA_STACK_PORT": "8321", "OGX_PORT": "8321",
				"LLAMA_STACK_CONFIG_DIR": "/.llama", "OGX_CONFIG_DIR": "/.llama",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, variables(t, c.params)); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			if s := server(t, c.params); s.Command != nil || s.Args != nil {
				t.Errorf("the entrypoint is replaced: %v %v", s.Command, s.Args)
			}
			if links := pod(c.params).EnableServiceLinks; links == nil || *links {
				t.Error("service links are on: a Service named llama-stack would set LLAMA_STACK_PORT to a URL")
			}
		})
	}
}

// Proves: FR-060, R78 (container, Service, environment and URL use the same port number).
func TestPort(t *testing.T) {
	for name, c := range map[string]struct {
		networking *v1alpha2.NetworkingSpec
		want       int32
		text       string
	}{
		"no networking": {nil, 8321, "8321"},
		"no port":       {&v1alpha2.NetworkingSpec{}, 8321, "8321"},
		"custom":        {&v1alpha2.NetworkingSpec{Port: new(int32(9000))}, 9000, "9000"},
	} {
		t.Run(name, func(t *testing.T) {
			p := with(t, func(p *objects.Params) {
				p.CR.Spec.Networking, p.PortVariables = c.networking, []string{"LLAMA_STACK_PORT", "OGX_PORT"}
			})
			service := objects.Service(p).Spec
			if len(service.Ports) != 1 || service.Ports[0].Port != c.want || service.Ports[0].TargetPort != intstr.FromInt32(c.want) {
				t.Errorf("Service ports %v, want only %d to the same number in the pods", service.Ports, c.want)
			}
			ports := server(t, p).Ports
			if len(ports) != 1 || ports[0].ContainerPort != c.want || ports[0].HostPort != 0 {
				t.Errorf("container ports %v, want only %d", ports, c.want)
			}
			for _, variable := range p.PortVariables {
				if got := variables(t, p)[variable]; got != c.text {
					t.Errorf("%s = %q, want %s", variable, got, c.text)
				}
			}
			want := "http://my-stack-service.ai.svc:" + c.text
			if got := names.ServiceURL(corev1.URISchemeHTTP, p.CR.Name, p.CR.Namespace, objects.Port(&p.CR.Spec)); got != want {
				t.Errorf("URL %s, want %s", got, want)
			}
		})
	}
}

// Proves: R39, FR-062, R21 (probes and Service use the scheme, with TCP probes for client certificates; the port's name
// stays).
func TestScheme(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*objects.Params)
		scheme      corev1.URIScheme
		appProtocol string
		tcp         bool
	}{
		"plain":               {func(*objects.Params) {}, "HTTP", "", false},
		"TLS":                 {func(p *objects.Params) { p.Scheme = "HTTPS" }, "HTTPS", "https", false},
		"client certificates": {func(p *objects.Params) { p.Scheme, p.ClientCertificates = "HTTPS", true }, "", "https", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := with(t, c.change)
			port := objects.Service(p).Spec.Ports[0]
			if got := ptr.Deref(port.AppProtocol, ""); got != c.appProtocol || port.Name != "http" {
				t.Errorf("appProtocol %q of port %s, want %q of http", got, port.Name, c.appProtocol)
			}
			container := server(t, p)
			for _, probe := range []*corev1.Probe{container.StartupProbe, container.ReadinessProbe} {
				if http := probe.HTTPGet; (http == nil) != c.tcp || http != nil && http.Scheme != c.scheme {
					t.Errorf("HTTP probe %+v, want %q", http, c.scheme)
				}
				if tcp := probe.TCPSocket; (tcp != nil) != c.tcp || tcp != nil && tcp.Port.StrVal != "http" {
					t.Errorf("TCP probe %+v", tcp)
				}
			}
		})
	}
	if got := names.ServiceURL("HTTPS", "a", "b", 1); got != "https://a-service.b.svc:1" {
		t.Error(got)
	}
}

func mount(c *corev1.Container, path string) *corev1.VolumeMount {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == path {
			return &c.VolumeMounts[i]
		}
	}
	return nil
}

func volume(p *corev1.PodSpec, name string) *corev1.Volume {
	for i := range p.Volumes {
		if p.Volumes[i].Name == name {
			return &p.Volumes[i]
		}
	}
	return &corev1.Volume{}
}

// Proves: R43, L-22.
func TestReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		workload *v1alpha2.WorkloadSpec
		want     int32
	}{
		"no workload": {nil, 1}, "no replicas": {&v1alpha2.WorkloadSpec{}, 1},
		"zero": {&v1alpha2.WorkloadSpec{Replicas: new(int32(0))}, 0}, "three": {&v1alpha2.WorkloadSpec{Replicas: new(int32(3))}, 3},
	} {
		p := with(t, func(p *objects.Params) { p.CR.Spec.Workload = c.workload })
		if got := objects.Deployment(p).Spec.Replicas; got == nil || *got != c.want {
			t.Errorf("%s: replicas %v, want %d", name, got, c.want)
		}
	}
}

// Proves: FR-026, L-23 (only content that pods read rolls them).
func TestTemplateChangesOnlyWithContent(t *testing.T) {
	before := objects.Deployment(simple(t)).Spec.Template
	for name, c := range map[string]struct {
		change func(*objects.Params)
		rolls  bool
	}{
		"nothing":               {func(*objects.Params) {}, false},
		"build of the operator": {func(p *objects.Params) { p.Build = "9.9.9" }, false},
		"input hash":            {func(p *objects.Params) { p.InputHash = "other" }, false},
		"replicas none":         {func(p *objects.Params) { p.CR.Spec.Workload.Replicas = new(int32(0)) }, false},
		"more than one replica": {func(p *objects.Params) { p.CR.Spec.Workload.Replicas = new(int32(2)) }, false}, // Proves: R79
		"an autoscaler": {func(p *objects.Params) {
			p.CR.Spec.Workload.Autoscaling = &v1alpha2.AutoscalingSpec{MaxReplicas: new(int32(5))}
		}, false},
		"label of the resource": {func(p *objects.Params) { p.CR.Labels = map[string]string{"a": "b"} }, false},
		"configuration":         {func(p *objects.Params) { p.Config = []byte(configYAML + "x: 1\n") }, true},
		"secret value":          {func(p *objects.Params) { p.SecretsHash = "rotated" }, true},
		"image":                 {func(p *objects.Params) { p.Image = "registry.example/distribution-starter:0.7.2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := objects.Deployment(with(t, c.change)).Spec.Template
			if got := !cmp.Equal(before, after); got != c.rolls {
				t.Errorf("template changed: %v, want %v\n%s", got, c.rolls, cmp.Diff(before, after))
			}
		})
	}
	plain := objects.Deployment(with(t, func(p *objects.Params) { p.Config, p.SecretsHash = nil, "" }))
	if got := plain.Spec.Template.Annotations; len(got) != 0 {
		t.Errorf("hashes of nothing: %v", got)
	}
	annotations := objects.Deployment(simple(t)).Annotations
	want := map[string]string{names.AnnotationInputHash: "1a9475", names.AnnotationBuild: "1.2.3+abc"}
	if diff := cmp.Diff(want, annotations); diff != "" {
		t.Errorf("annotations of the Deployment (-want +got):\n%s", diff)
	}
}

// A change of an object must not change the spec.
func TestBuildersDoNotShareTheSpec(t *testing.T) {
	p := simple(t)
	p.MemoryTmp = true
	before := p.CR.DeepCopy()
	d := objects.Deployment(p)
	d.Spec.Template.Spec.Containers[0].Resources.Requests["cpu"] = *d.Spec.Template.Spec.Volumes[1].EmptyDir.SizeLimit
	d.Spec.Selector.MatchLabels["app"] = "changed"
	d.Labels["app"] = "changed"
	if diff := cmp.Diff(before, p.CR); diff != "" {
		t.Errorf("the resource changed:\n%s", diff)
	}
	if names.Selector("x")["app"] != "llama-stack" {
		t.Error("the selector changed")
	}
}

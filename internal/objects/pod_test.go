// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// Proves: R27, FR-022, FR-032, L-15 (steered by the environment, the image's entrypoint is kept).
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

// Proves: FR-060, R78 (one port everywhere, by its number: container, Service, environment, URL).
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
			if got := objects.ServiceURL(corev1.URISchemeHTTP, p.CR.Name, p.CR.Namespace, objects.Port(&p.CR.Spec)); got != want {
				t.Errorf("URL %s, want %s", got, want)
			}
		})
	}
}

// Proves: R39, FR-062, R21 (with TLS everything that asks the server speaks HTTPS; the name of the port stays).
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
	if got := objects.ServiceURL("HTTPS", "a", "b", 1); got != "https://a-service.b.svc:1" {
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

// Proves: R27, R43 (the data directory), L-18 (everything that the server writes to is a volume).
func TestVolumes(t *testing.T) {
	p := simple(t)
	s := server(t, p)

	config := mount(s, "/etc/llama-stack")
	if config == nil || !config.ReadOnly || config.SubPath != "" {
		t.Fatalf("configuration mounted as %+v, want read-only and whole", config)
	}
	if source := volume(pod(p), config.Name).ConfigMap; source == nil || source.Name != objects.ConfigMap(p).Name {
		t.Errorf("the configuration comes from %+v, want the generated ConfigMap", source)
	}
	if got := objects.MountedConfigMap(pod(p)); got != objects.ConfigMap(p).Name {
		t.Errorf("MountedConfigMap = %q", got)
	}

	if tmp := mount(s, "/tmp"); tmp != nil {
		t.Errorf("/tmp is mounted as %+v, although the server writes no secrets there", tmp)
	}
	p.MemoryTmp = true
	s = server(t, p)
	tmp := mount(s, "/tmp")
	if tmp == nil || tmp.ReadOnly {
		t.Fatalf("/tmp is mounted as %+v", tmp)
	}
	if dir := volume(pod(p), tmp.Name).EmptyDir; dir == nil || dir.Medium != corev1.StorageMediumMemory || dir.SizeLimit == nil || dir.SizeLimit.Sign() <= 0 {
		t.Errorf("/tmp is %+v, want memory with a size limit: the server writes secrets there", dir)
	}

	data, sql := mount(s, "/.llama"), mount(s, "/.llama/distributions/starter")
	if data == nil || sql == nil || data.Name != sql.Name || sql.SubPath != "distributions/starter" || data.SubPath != "" {
		t.Fatalf("data %+v, directory of the SQL database %+v: want the same volume, the second by its sub path", data, sql)
	}
	if volume(pod(p), data.Name).EmptyDir == nil {
		t.Error("without spec.workload.storage the data volume is no emptyDir")
	}

	for _, m := range s.VolumeMounts {
		if volume(pod(p), m.Name).Name == "" {
			t.Errorf("mount %s has no volume", m.MountPath)
		}
	}
	if got := len(pod(p).Volumes); got != 3 {
		t.Errorf("%d volumes, want 3", got)
	}

	plain := with(t, func(p *objects.Params) { p.Config = nil })
	if cm := objects.ConfigMap(plain); cm != nil {
		t.Errorf("a ConfigMap without a configuration: %v", cm)
	}
	if mount(server(t, plain), "/etc/llama-stack") != nil || objects.MountedConfigMap(pod(plain)) != "" {
		t.Error("something is mounted over the image's own configuration")
	}
	if m := mount(server(t, with(t, func(p *objects.Params) { p.StateDir = "" })), "/.llama"); m == nil {
		t.Error("no data volume for an unknown distribution")
	}
}

// Proves: L-20, R27, R26 (plain HTTP without TLS).
func TestProbes(t *testing.T) {
	s := server(t, simple(t))
	for name, probe := range map[string]*corev1.Probe{"startup": s.StartupProbe, "readiness": s.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil {
			t.Fatalf("no %s probe over HTTP", name)
		}
		want := corev1.HTTPGetAction{Path: "/v1/health", Scheme: corev1.URISchemeHTTP}
		want.Port.Type, want.Port.StrVal = 1, "http"
		if diff := cmp.Diff(want, *probe.HTTPGet); diff != "" {
			t.Errorf("%s probe (-want +got):\n%s", name, diff)
		}
		if probe.TimeoutSeconds < 2 {
			t.Errorf("%s probe: %d s are too short for a busy server", name, probe.TimeoutSeconds)
		}
	}
	if budget := s.StartupProbe.PeriodSeconds * s.StartupProbe.FailureThreshold; budget < 600 {
		t.Errorf("a server has %d s to start, want 10 minutes", budget)
	}
	if s.LivenessProbe != nil {
		t.Error("a liveness probe would kill a server that is busy")
	}
	deadline := objects.Deployment(simple(t)).Spec.ProgressDeadlineSeconds
	if deadline == nil || *deadline <= 600 {
		t.Errorf("progress deadline %v: shorter than a start may take", deadline)
	}
}

// Proves: R43, L-05 (no volume that one node alone can mount: pods may overlap), L-22.
func TestDeploymentShape(t *testing.T) {
	spec := objects.Deployment(simple(t)).Spec
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		t.Errorf("strategy %s, want a rolling update: old pods serve until new ones do", spec.Strategy.Type)
	}
	if got := ptr.Deref(spec.RevisionHistoryLimit, -1); got != 1 {
		t.Errorf("revisionHistoryLimit %d, want 1", got)
	}
	if r := spec.Strategy.RollingUpdate; r == nil || r.MaxUnavailable.IntValue() != 0 || r.MaxSurge.String() == "0" {
		t.Errorf("rolling update %+v, want never fewer pods than before", r)
	}
	template := spec.Template.Spec
	if template.NodeSelector != nil || template.Tolerations != nil {
		t.Error("scheduling constraints that nobody asked for")
	}
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

// Proves: FR-026, L-23 (what the pods read rolls them, and nothing else does).
func TestTemplateChangesWithContentAlone(t *testing.T) {
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
	want := map[string]string{objects.AnnotationInputHash: "1a9475", objects.AnnotationBuild: "1.2.3+abc"}
	if diff := cmp.Diff(want, annotations); diff != "" {
		t.Errorf("annotations of the Deployment (-want +got):\n%s", diff)
	}
}

// Proves: NFR-005, FR-024, R17.
func TestConfigMapIsContentNamed(t *testing.T) {
	p := simple(t)
	cm := objects.ConfigMap(p)
	if !ptr.Deref(cm.Immutable, false) {
		t.Error("the ConfigMap is not immutable")
	}
	if diff := cmp.Diff(map[string]string{"config.yaml": configYAML}, cm.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	other := objects.ConfigMap(with(t, func(p *objects.Params) { p.Config = append(p.Config, '\n') }))
	if cm.Name == other.Name {
		t.Error("other content has the same name")
	}
	if again := objects.ConfigMap(with(t, func(p *objects.Params) { p.Build, p.SecretsHash = "x", "y" })); again.Name != cm.Name {
		t.Error("the same content has another name")
	}
	if digits := strings.TrimPrefix(cm.Name, "my-stack-config-"); len(digits) != 10 {
		t.Errorf("name %s: want 10 digits of the hash", cm.Name)
	}
}

// Proves: FR-025 (deleting the resource deletes what belongs to it), L-01 (what the caches hold in full is labeled).
func TestStamp(t *testing.T) {
	p := simple(t)
	for _, o := range []objects.Object{objects.ServiceAccount(p), objects.ConfigMap(p), objects.Deployment(p), objects.Service(p)} {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if o.GetNamespace() != "ai" || kind == "" {
			t.Errorf("%q %s/%s", kind, o.GetNamespace(), o.GetName())
		}
		owners := o.GetOwnerReferences()
		if len(owners) != 1 || owners[0].UID != p.CR.UID || owners[0].Name != p.CR.Name || owners[0].Kind != "LlamaStackDistribution" ||
			owners[0].APIVersion != "llamastack.io/v1alpha2" || !ptr.Deref(owners[0].Controller, false) {
			t.Errorf("%s: owners %v", kind, owners)
		}
		if o.GetLabels()[objects.LabelManagedBy] != objects.ManagedBy || o.GetLabels()["app.kubernetes.io/instance"] != "my-stack" {
			t.Errorf("%s: labels %v", kind, o.GetLabels())
		}
	}
	if token := objects.ServiceAccount(p).AutomountServiceAccountToken; token == nil || *token {
		t.Error("the ServiceAccount's token is mounted")
	}
}

// A builder must not hand out parts of the resource: anyone who changes an object would change the spec.
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
	if objects.Selector("x")["app"] != "llama-stack" {
		t.Error("the selector changed")
	}
}

// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// workload returns the parameters of the simple sample with this spec.workload and spec.networking.
func workload(t *testing.T, text string) *objects.Params {
	t.Helper()
	return with(t, func(p *objects.Params) {
		var spec struct {
			Workload   *v1alpha2.WorkloadSpec
			Networking *v1alpha2.NetworkingSpec
			Monitoring *v1alpha2.MonitoringSpec
		}
		if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		p.CR.Spec.Workload, p.CR.Spec.Networking = spec.Workload, spec.Networking
		if m := spec.Monitoring; m != nil {
			p.MetricsPort = *m.MetricsPort
		}
		p.Expose = parse.Parse(&p.CR.Spec).Expose
		p.OperatorNamespace, p.NetworkPolicy = "operator", objects.AllowedFrom(&p.CR.Spec) != nil
	})
}

// Proves: R43, R21, L-05 (the PVC, its mount and content; old pods release it before new ones start).
func TestStorage(t *testing.T) {
	for text, c := range map[string]struct {
		size, mount string
		strategy    appsv1.DeploymentStrategyType
	}{
		"":                        {"", "/.llama", appsv1.RollingUpdateDeploymentStrategyType},
		"workload: {storage: {}}": {"10Gi", "/.llama", appsv1.RecreateDeploymentStrategyType},
		"workload: {storage: {size: '0', mountPath: ''}}":               {"10Gi", "/.llama", appsv1.RecreateDeploymentStrategyType},
		"workload: {storage: {size: 20Gi, mountPath: /home/lls/.lls/}}": {"20Gi", "/home/lls/.lls", appsv1.RecreateDeploymentStrategyType},
	} {
		t.Run(text, func(t *testing.T) {
			p := workload(t, text)
			pvc := objects.PersistentVolumeClaim(p)
			data := volume(pod(p), "lls-storage")
			if c.size == "" {
				if pvc != nil || data.EmptyDir == nil {
					t.Errorf("claim %v, volume %+v", pvc, data)
				}
			} else {
				want := resource.MustParse(c.size)
				if got := pvc.Spec.Resources.Requests[corev1.ResourceStorage]; pvc.Name != "my-stack-pvc" || got.Cmp(want) != 0 ||
					!slices.Equal(pvc.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}) || pvc.Spec.StorageClassName != nil {
					t.Errorf("claim %+v", pvc)
				}
				if data.PersistentVolumeClaim == nil || data.PersistentVolumeClaim.ClaimName != pvc.Name || data.EmptyDir != nil {
					t.Errorf("volume %+v", data)
				}
			}
			env := variables(t, p)
			if mount(server(t, p), c.mount) == nil || env["HF_HOME"] != c.mount || env["HOME"] != "/" ||
				env["SQLITE_STORE_DIR"] != c.mount+"/distributions/starter" || mount(server(t, p), env["SQLITE_STORE_DIR"]) == nil {
				t.Errorf("mounts %+v, environment %v", server(t, p).VolumeMounts, env)
			}
			strategy := objects.Deployment(p).Spec.Strategy
			if strategy.Type != c.strategy || (strategy.RollingUpdate != nil) != (c.strategy == appsv1.RollingUpdateDeploymentStrategyType) {
				t.Errorf("strategy %+v", strategy)
			}
		})
	}
}

// Proves: R42, R30, L-22, R21 (bounds and targets; the autoscaler owns the replicas).
func TestAutoscaler(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"workload: {autoscaling: {}}": "",
		"workload: {autoscaling: {maxReplicas: 3}}":                                                                            "1-3 cpu=80",
		"workload: {replicas: 2, autoscaling: {minReplicas: 1, maxReplicas: 3}}":                                               "2-3 cpu=80",
		"workload: {replicas: 0, autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 75}}":                           "1-3 cpu=75",
		"workload: {autoscaling: {minReplicas: 2, maxReplicas: 9, targetMemoryUtilizationPercentage: 60}}":                     "2-9 memory=60",
		"workload: {autoscaling: {maxReplicas: 9, targetCPUUtilizationPercentage: 70, targetMemoryUtilizationPercentage: 60}}": "1-9 cpu=70 memory=60",
	} {
		t.Run(text, func(t *testing.T) {
			p := workload(t, text)
			h, replicas := objects.HorizontalPodAutoscaler(p), objects.Deployment(p).Spec.Replicas
			if want == "" {
				if h != nil || replicas == nil {
					t.Errorf("autoscaler %v, replicas %v", h, replicas)
				}
				return
			}
			got := fmt.Sprintf("%d-%d", *h.Spec.MinReplicas, h.Spec.MaxReplicas)
			for _, m := range h.Spec.Metrics {
				got += fmt.Sprintf(" %s=%d", m.Resource.Name, *m.Resource.Target.AverageUtilization)
			}
			target := h.Spec.ScaleTargetRef
			if got != want || h.Name != "my-stack-hpa" || replicas != nil || target.Name != "my-stack" || target.Kind != "Deployment" {
				t.Errorf("got %q, %+v, replicas %v", got, h, replicas)
			}
		})
	}
}

// Proves: R42, L-21, R21 (with several pods one may be disrupted, unless the user says otherwise).
func TestBudget(t *testing.T) {
	one, two := intstr.FromInt32(1), intstr.FromInt32(2)
	for text, want := range map[string][2]*intstr.IntOrString{
		"":                        {},
		"workload: {replicas: 2}": {nil, &one},
		"workload: {autoscaling: {maxReplicas: 2}}":                       {nil, &one},
		"workload: {podDisruptionBudget: {}}":                             {nil, &one},
		"workload: {replicas: 3, podDisruptionBudget: {minAvailable: 2}}": {&two, nil},
		"workload: {podDisruptionBudget: {maxUnavailable: 2}}":            {nil, &two},
	} {
		t.Run(text, func(t *testing.T) {
			b := objects.PodDisruptionBudget(workload(t, text))
			if want == ([2]*intstr.IntOrString{}) {
				if b != nil {
					t.Errorf("a budget: %+v", b)
				}
				return
			}
			if diff := cmp.Diff(want, [2]*intstr.IntOrString{b.Spec.MinAvailable, b.Spec.MaxUnavailable}); diff != "" || b.Name != "my-stack-pdb" {
				t.Errorf("%s (-want +got):\n%s", b.Name, diff)
			}
			if diff := cmp.Diff(names.Selector("my-stack"), b.Spec.Selector.MatchLabels); diff != "" {
				t.Errorf("selector:\n%s", diff)
			}
		})
	}
}

// Proves: R43, R79 (the number of replicas does not change placement; user constraints stay and select the server's
// pods by default).
func TestPlacement(t *testing.T) {
	two := pod(workload(t, "workload: {replicas: 2}"))
	if len(two.TopologySpreadConstraints) != 3 || len(two.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Errorf("two pods: %+v, %+v", two.TopologySpreadConstraints, two.Affinity)
	}
	for _, other := range []string{"workload: {replicas: 1}", "workload: {replicas: 7}", "workload: {autoscaling: {maxReplicas: 3}}"} {
		if diff := cmp.Diff(two, pod(workload(t, other))); diff != "" {
			t.Errorf("%s: another number of pods rolls them all:\n%s", other, diff)
		}
	}
	for _, c := range two.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.ScheduleAnyway || !cmp.Equal(c.LabelSelector.MatchLabels, names.Selector("my-stack")) {
			t.Errorf("constraint %+v", c)
		}
	}
	own := pod(workload(t, "workload: {replicas: 1, topologySpreadConstraints: [{maxSkew: 2, topologyKey: rack, whenUnsatisfiable: DoNotSchedule},"+
		"{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}}]}")).TopologySpreadConstraints
	if len(own) != 2 || own[0].MaxSkew != 2 || !cmp.Equal(own[0].LabelSelector.MatchLabels, names.Selector("my-stack")) || own[1].LabelSelector.MatchLabels["a"] != "b" {
		t.Errorf("the user's constraints: %+v", own)
	}
}

// Proves: R72 (node selector, pull Secrets, devices, metadata and termination appear in the pods as written).
func TestPodsHaveTheUsersScheduling(t *testing.T) {
	p := workload(t, `
workload:
  scheduling:
    nodeSelector: {pool: ai}
    tolerations: [{key: pool, operator: Exists}]
    affinity: {nodeAffinity: {}}
    priorityClassName: high
    runtimeClassName: nvidia
  imagePullSecrets: [{name: registry}]
  podMetadata: {labels: {team: ai, app: mine}, annotations: {cost: "1", llamastack.io/config-hash: mine}}
  resources: {claims: [{name: gpu}]}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  terminationGracePeriodSeconds: 90
  overrides: {envFrom: [{secretRef: {name: keys}}]}
`)
	got := pod(p)
	want := got.DeepCopy()
	want.NodeSelector, want.Tolerations = map[string]string{"pool": "ai"}, []corev1.Toleration{{Key: "pool", Operator: corev1.TolerationOpExists}}
	want.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	want.PriorityClassName, want.RuntimeClassName = "high", new("nvidia")
	want.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	want.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}}
	want.TerminationGracePeriodSeconds = new(int64(90))
	want.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	want.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	meta := objects.Deployment(p).Spec.Template.ObjectMeta
	if meta.Labels["team"] != "ai" || meta.Labels["app"] != "llama-stack" || meta.Annotations["cost"] != "1" || meta.Annotations["llamastack.io/config-hash"] == "mine" {
		t.Errorf("metadata %+v: want the user's beside the operator's", meta)
	}
	if server(t, workload(t, "workload: {terminationGracePeriodSeconds: 9}")).Lifecycle != nil {
		t.Error("a pod sleeps longer than it has time to end")
	}
	var references []string
	for _, r := range objects.PodReferences(p.CR) {
		references = append(references, r.Kind+" "+r.Name+" "+r.Path)
	}
	if diff := cmp.Diff([]string{"Secret keys spec.workload.overrides.envFrom[0].secretRef"}, references); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// Proves: R44 (command, arguments, environment, volumes and identity of the user, and their precedence).
func TestOverrides(t *testing.T) {
	p := workload(t, `
workload:
  overrides:
    serviceAccountName: mine
    command: [run]
    args: [--fast]
    env: [{name: A, value: "1"}, {name: HF_HOME, value: /cache}, {name: A, value: "2"}, {name: LLSD_VLLM_API_KEY, value: x}]
    volumes: [{name: scratch, emptyDir: {}}, {name: user-config, emptyDir: {}}]
    volumeMounts: [{name: scratch, mountPath: /tmp/}, {name: scratch, mountPath: /scratch}, {name: scratch, mountPath: /.llama}]
`)
	p.MemoryTmp = true
	s := server(t, p)
	env := variables(t, p)
	if env["A"] != "2" || env["HF_HOME"] != "/cache" || env["LLSD_VLLM_API_KEY"] != "x" || env["HOME"] != "/" {
		t.Errorf("environment %v", env)
	}
	if !slices.Equal(s.Command, []string{"run"}) || !slices.Equal(s.Args, []string{"--fast"}) {
		t.Errorf("command %v, arguments %v", s.Command, s.Args)
	}
	if objects.ServiceAccount(p) != nil || pod(p).ServiceAccountName != "mine" || pod(p).AutomountServiceAccountToken != nil {
		t.Errorf("identity %s", pod(p).ServiceAccountName)
	}
	var volumes, mounts []string
	for i := range pod(p).Volumes {
		volumes = append(volumes, pod(p).Volumes[i].Name)
	}
	for i := range s.VolumeMounts {
		mounts = append(mounts, s.VolumeMounts[i].Name+" "+s.VolumeMounts[i].MountPath)
	}
	if diff := cmp.Diff([]string{"lls-storage", "scratch", "user-config"}, volumes); diff != "" {
		t.Errorf("volumes (-want +got):\n%s", diff)
	}
	want := []string{"lls-storage /.llama/distributions/starter", "scratch /tmp/", "scratch /scratch", "scratch /.llama"}
	if diff := cmp.Diff(want, mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	var clashes []string
	for _, c := range objects.Conflicts(p) {
		clashes = append(clashes, fmt.Sprint(strings.TrimPrefix(c.Path, "spec.workload.overrides."), ": ", c.Description, " ", c.Essential))
	}
	wantClashes := []string{
		"env[1]: the variable HF_HOME false", "env[3]: the variable LLSD_VLLM_API_KEY true",
		"volumes[1]: the volume user-config true", "volumeMounts[2]: the mount path /.llama true",
	}
	if diff := cmp.Diff(wantClashes, clashes); diff != "" {
		t.Errorf("clashes (-want +got):\n%s", diff)
	}
	if got := objects.Conflicts(simple(t)); len(got) > 0 {
		t.Errorf("clashes of nothing: %v", got)
	}
}

// Proves: L-05, R21 (there is no delay if the next pod waits for the PVC or the grace period is too short).
func TestPodsServeUntilEndpointsAreRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int64
	}{
		"without a PVC":          {"", 5},
		"with a PVC":             {"workload: {storage: {}}", 0},
		"a grace period":         {"workload: {terminationGracePeriodSeconds: 90}", 5},
		"a short grace period":   {"workload: {terminationGracePeriodSeconds: 9}", 0},
		"just enough":            {"workload: {terminationGracePeriodSeconds: 10}", 5},
		"no grace period at all": {"workload: {terminationGracePeriodSeconds: 0}", 0},
	} {
		p := workload(t, c.text)
		got := int64(0)
		if l := server(t, p).Lifecycle; l != nil {
			got = l.PreStop.Sleep.Seconds
		}
		if got != c.want {
			t.Errorf("%s: the pod serves on for %d s, want %d", name, got, c.want)
		}
	}
}

// Proves: FR-064, FR-065, R41, R21.
func TestIngress(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "none",
		"networking: {expose: false}": "none",
		"networking: {expose: {enabled: false, hostname: a.example}}": "none",
		"networking: {expose: true}":                                  "",
		"networking: {expose: {}}":                                    "",
		"networking: {expose: {hostname: a.example}}":                 "a.example",
	} {
		t.Run(text, func(t *testing.T) {
			i := objects.Ingress(workload(t, text))
			if want == "none" {
				if i != nil {
					t.Errorf("an Ingress: %+v", i)
				}
				return
			}
			rule := i.Spec.Rules[0]
			backend := rule.HTTP.Paths[0].Backend.Service
			if i.Name != "my-stack-ingress" || rule.Host != want || rule.HTTP.Paths[0].Path != "/" || backend.Name != "my-stack-service" || backend.Port.Name != "http" {
				t.Errorf("Ingress %+v", i)
			}
		})
	}
}

// Proves: FR-066, R41, R21 (the allowed peers, always including the own and the operator's namespace).
func TestNetworkPolicy(t *testing.T) {
	always := []string{"pods", "kubernetes.io/metadata.name=operator"}
	for text, more := range map[string][]string{
		"networking: {allowedFrom: {namespaces: [b, a, b, '']}}":                 {"kubernetes.io/metadata.name=b", "kubernetes.io/metadata.name=a"},
		"networking: {allowedFrom: {labels: [team/x, yes/no]}}":                  {"team/x exists", "yes/no exists"},
		"networking: {allowedFrom: {namespaces: [a, '*'], labels: [y]}}":         {"all"},
		"networking: {allowedFrom: {namespaces: [a]}, expose: true, port: 9000}": {"kubernetes.io/metadata.name=a", "network.openshift.io/policy-group=ingress"},
	} {
		t.Run(text, func(t *testing.T) {
			p := workload(t, text)
			n := objects.NetworkPolicy(p)
			rule := n.Spec.Ingress[0]
			var got []string
			for _, peer := range rule.From {
				switch s := peer.NamespaceSelector; {
				case s == nil:
					got = append(got, "pods")
				case len(s.MatchExpressions) > 0:
					got = append(got, s.MatchExpressions[0].Key+" exists")
				case len(s.MatchLabels) == 0:
					got = append(got, "all")
				default:
					for key, value := range s.MatchLabels {
						got = append(got, key+"="+value)
					}
				}
			}
			if diff := cmp.Diff(append(slices.Clone(always), more...), got); diff != "" {
				t.Errorf("peers (-want +got):\n%s", diff)
			}
			if n.Name != "my-stack-network-policy" || len(rule.Ports) != 1 || rule.Ports[0].Port.IntVal != objects.Port(&p.CR.Spec) ||
				!cmp.Equal(n.Spec.PodSelector.MatchLabels, names.Selector("my-stack")) {
				t.Errorf("policy %+v", n)
			}
		})
	}
	router := func(fromV1alpha1 bool, text string) bool {
		p := workload(t, text)
		p.NetworkPolicy, p.Legacy.FromV1alpha1 = true, fromV1alpha1
		return slices.ContainsFunc(objects.NetworkPolicy(p).Spec.Ingress[0].From, func(peer networkingv1.NetworkPolicyPeer) bool {
			return peer.NamespaceSelector != nil && peer.NamespaceSelector.MatchLabels["network.openshift.io/policy-group"] == "ingress"
		})
	}
	const closed = "networking: {expose: false, allowedFrom: {namespaces: [a]}}"
	if !router(true, closed) || router(false, closed) || router(true, "networking: {port: 9000}") {
		t.Error("the router is let in as by release 0.9: where v1alpha1 has a network section, and not otherwise")
	}
	if objects.NetworkPolicy(simple(t)) != nil {
		t.Error("an unrequested policy")
	}
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// fromV1alpha1 is the annotation of an object that was created in v1alpha1.
const fromV1alpha1 = `{"version":1,"origin":"v1alpha1"}`

// sampleWith returns the inputs of a sample whose spec is merged with the text.
func sampleWith(t *testing.T, sample, text string) *Inputs {
	t.Helper()
	in := inputs(t, sample)
	framework.NoError(t, yaml.UnmarshalStrict([]byte(text), &in.CR.Spec))
	return in
}

// Proves: R42, R43, R44, R41, R77, L-21 (invalid values are errors with field and fix, the rest are warnings).
func TestWorkload(t *testing.T) {
	for text, want := range map[string]struct{ fault, warning string }{
		"workload: {autoscaling: {minReplicas: 2}}":                                                                                                     {"spec.workload.autoscaling.maxReplicas: Required value: at least 1", ""},
		"workload: {autoscaling: {maxReplicas: 0}}":                                                                                                     {"spec.workload.autoscaling.maxReplicas: Required value", ""},
		"workload: {autoscaling: {minReplicas: 3, maxReplicas: 3}}":                                                                                     {"", "each pod has its own state"},
		"workload: {autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 1}}":                                                                  {"", "each pod has its own state"},
		"workload: {replicas: 2, podDisruptionBudget: {maxUnavailable: 0%}}":                                                                            {"", "podDisruptionBudget.maxUnavailable: allows no disruptions"},
		"workload: {podDisruptionBudget: {maxUnavailable: 1}}":                                                                                          {"", ""},
		"workload: {autoscaling: {maxReplicas: 1}}":                                                                                                     {"", ""},
		"workload: {replicas: 5, autoscaling: {maxReplicas: 3}}":                                                                                        {"spec.workload.autoscaling.maxReplicas: Invalid value: 3: is below the smallest number of pods, 5", "each pod has its own state"},
		"workload: {autoscaling: {maxReplicas: 3, targetCPUUtilizationPercentage: 0}}":                                                                  {"targetCPUUtilizationPercentage: Invalid value: 0", "each pod has its own state"},
		"workload: {autoscaling: {maxReplicas: 1, metrics: [{type: Resource, resource: {nam: cpu}}]}}":                                                  {`spec.workload.autoscaling.metrics[0].resource.nam: Invalid value: unknown field`, ""},
		"workload: {autoscaling: {maxReplicas: 1, metrics: [x]}}":                                                                                       {`spec.workload.autoscaling.metrics[0]: Invalid value: has a value of the wrong type`, ""},
		"workload: {autoscaling: {maxReplicas: 1, behavior: {scaleDown: {stabilizationWindowSeconds: soon}}}}":                                          {`spec.workload.autoscaling.behavior: Invalid value: has a value of the wrong type`, ""},
		"workload: {autoscaling: {maxReplicas: 1, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]}}":                    {`spec.workload.autoscaling.metrics[0].resource.target.averageUtilization: Required value`, ""},
		"workload: {autoscaling: {maxReplicas: 1, behavior: {scaleDown: {stabilizationWindowSeconds: -1}}}}":                                            {`spec.workload.autoscaling.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1`, ""},
		"workload: {autoscaling: {maxReplicas: 1, behavior: []}}":                                                                                       {`spec.workload.autoscaling.behavior: Invalid value`, ""},
		"workload: {autoscaling: {maxReplicas: 1, behavior: {scaleDown: {selectPolicy: Disabled}}}}":                                                    {"", ""},
		"workload: {autoscaling: {maxReplicas: 3}}":                                                                                                     {"", "each pod has its own state"},
		"workload: {podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}}":                                                                         {"spec.workload.podDisruptionBudget: Forbidden: minAvailable and maxUnavailable exclude each other", ""},
		"workload: {podDisruptionBudget: {minAvailable: 1}}":                                                                                            {"", "spec.workload.podDisruptionBudget.minAvailable: allows no disruptions with 1 replicas"},
		"workload: {replicas: 2, podDisruptionBudget: {minAvailable: 100%}}":                                                                            {"", "podDisruptionBudget.minAvailable: allows no disruptions"},
		"workload: {replicas: 2, podDisruptionBudget: {maxUnavailable: 0}}":                                                                             {"", "podDisruptionBudget.maxUnavailable: allows no disruptions"},
		"workload: {replicas: 2, podDisruptionBudget: {minAvailable: 1}}":                                                                               {"", "each pod has its own state"},
		"workload: {storage: {mountPath: data}}":                                                                                                        {"spec.workload.storage.mountPath: Invalid value", ""},
		"workload: {storage: {mountPath: /etc/llama-stack/}}":                                                                                           {"spec.workload.storage.mountPath: Invalid value", ""},
		"workload: {storage: {mountPath: /etc/llama-stack/data}}":                                                                                       {`spec.workload.storage.mountPath: Invalid value: "/etc/llama-stack/data": the operator mounts a volume of its own at /etc/llama-stack`, ""},
		"workload: {storage: {mountPath: /etc/llama-stack-data}}":                                                                                       {"", ""},
		"workload: {storage: {size: -1Gi}}":                                                                                                             {"spec.workload.storage.size: Invalid value", ""},
		"workload: {storage: {storageClassName: Fast}}":                                                                                                 {`spec.workload.storage.storageClassName: Invalid value: "Fast": cannot be the name of a StorageClass`, ""},
		"workload: {storage: {claimName: A_b}}":                                                                                                         {`spec.workload.storage.claimName: Invalid value: "A_b"`, ""},
		"workload: {storage: {claimName: a, size: 1Gi}}":                                                                                                {"spec.workload.storage.size: Forbidden: is not for the existing PVC in claimName", ""},
		"workload: {storage: {claimName: a, storageClassName: b}}":                                                                                      {"spec.workload.storage.storageClassName: Forbidden", ""},
		"workload: {storage: {claimName: a, accessModes: [ReadWriteMany]}}":                                                                             {"spec.workload.storage.accessModes: Forbidden", ""},
		"workload: {storage: {claimName: a, whenDeleted: Delete}}":                                                                                      {"spec.workload.storage.whenDeleted: Forbidden", ""},
		"workload: {storage: {claimName: a, whenDeleted: Retain}}":                                                                                      {"", ""},
		"workload: {replicas: 2, storage: {claimName: a}}":                                                                                              {"", ""},
		"workload: {replicas: 2, storage: {accessModes: [ReadWriteOncePod]}}":                                                                           {"", "spec.workload.storage: the PVC can be mounted by one node at a time"},
		"workload: {replicas: 2, storage: {accessModes: [ReadWriteMany]}}":                                                                              {"", "spec.workload.storage: the pods write the same files at the same time"},
		"workload: {storage: {accessModes: [ReadWriteMany]}}":                                                                                           {"", ""},
		"workload: {storage: {}}":                                                                                                                       {"", ""},
		"workload: {workers: 3, resources: null}":                                                                                                       {"", "spec.workload.workers: each pod requests 3 CPU, one for each worker: set spec.workload.resources.requests.cpu"},
		"workload: {workers: 3}":                                                                                                                        {"", "spec.workload.workers: each worker is a process that does not find the vectors of another one"},
		"workload: {replicas: 2, storage: {}}":                                                                                                          {"", "spec.workload.storage: the PVC can be mounted by one node at a time"},
		"workload: {overrides: {env: [{name: HOME, value: /x}]}}":                                                                                       {"", "spec.workload.overrides.env[0]: the variable HOME replaces the operator's own"},
		"workload: {overrides: {env: [{name: LLSD_VLLM_API_KEY, value: x}]}}":                                                                           {"spec.workload.overrides.env[0]: Forbidden: sets LLSD_VLLM_API_KEY, which the operator sets", ""},
		"workload: {overrides: {env: [{name: LLSD_OTHER, value: x}]}}":                                                                                  {"", ""},
		"workload: {overrides: {volumes: [{name: lls-storage, emptyDir: {}}]}}":                                                                         {"spec.workload.overrides.volumes[0]: Forbidden: the volume lls-storage is reserved by the operator", ""},
		"workload: {overrides: {volumes: [{name: t, emptyDir: {}}], volumeMounts: [{name: t, mountPath: /tmp}]}}":                                       {"", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]}}":                                   {`spec.workload.overrides.sidecars[0].resources.requests[cpu]: Invalid value: "2": is above the limit 1`, ""},
		"workload: {overrides: {initContainers: [{name: a, image: b, resources: {limits: {gpu: 1}}}]}}":                                                 {`spec.workload.overrides.initContainers[0].resources.limits: Unsupported value: "gpu"`, ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, restartPolicy: Always}]}}":                                                               {"", "spec.workload.overrides.sidecars[0].restartPolicy: has no effect"},
		"workload: {overrides: {initContainers: [{name: a, image: b, restartPolicy: Always}]}}":                                                         {"", ""},
		"workload: {overrides: {sidecars: [{name: a}]}}":                                                                                                {"spec.workload.overrides.sidecars[0].image: Required value", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, comand: [c]}]}}":                                                                         {"spec.workload.overrides.sidecars[0].comand: Invalid value: unknown field", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, ports: {}}]}}":                                                                           {"spec.workload.overrides.sidecars[0]: Invalid value: has a value of the wrong type", ""},
		"workload: {overrides: {sidecars: [{name: llama-stack, image: b}]}}":                                                                            {`spec.workload.overrides.sidecars[0].name: Forbidden: the container llama-stack is the operator's`, ""},
		"workload: {overrides: {initContainers: [{name: install-provider-x, image: b}]}}":                                                               {"spec.workload.overrides.initContainers[0].name: Forbidden", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, ports: [{containerPort: 8321}]}]}}":                                                      {"spec.workload.overrides.sidecars[0].ports[0].containerPort: Forbidden: the port is the operator's", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, ports: [{name: http, containerPort: 1}]}]}}":                                             {"spec.workload.overrides.sidecars[0].ports[0].name: Forbidden", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, volumeMounts: [{name: nothing, mountPath: /a}]}]}}":                                      {`spec.workload.overrides.sidecars[0].volumeMounts[0].name: Not found: "nothing"`, ""},
		"workload: {overrides: {sidecars: [{name: a, image: b}], initContainers: [{name: a, image: b}]}}":                                               {"spec.workload.overrides.initContainers[0].name: Duplicate value", ""},
		"workload: {startupTimeoutSeconds: 60, overrides: {initContainers: [{name: a, image: b, restartPolicy: Always, ports: [{containerPort: 1}]}]}}": {"", ""},
		"workload: {overrides: {sidecars: [{name: a, image: b, volumeMounts: [{name: lls-storage, mountPath: /a}]}]}}":                                  {`spec.workload.overrides.sidecars[0].volumeMounts[0].name: Forbidden: the volume lls-storage is the operator's`, ""},
		"networking: {expose: 1}":                                    {"spec.networking.expose", ""},
		"networking: {expose: true, allowedFrom: {namespaces: [a]}}": {"", "blocks the ingress controller"},
	} {
		t.Run(text, func(t *testing.T) {
			d, faults := buildWith(t.Context(), sampleWith(t, "simple", text))
			if got := faults.Message(); (want.fault == "") != (got == "") || !strings.Contains(got, want.fault) {
				t.Errorf("faults %q, want %q", got, want.fault)
			}
			if got := d.Warnings.Message(); (want.warning == "") != (got == "") || !strings.Contains(got, want.warning) {
				t.Errorf("warnings %q, want %q", got, want.warning)
			}
			for _, f := range faults {
				if !slices.Contains([]problem.Reason{problem.InvalidField, problem.MissingField, problem.ConflictingFields, problem.UnknownField}, f.Reason) {
					t.Errorf("reason %s", f.Reason)
				}
			}
		})
	}
	build(t, inputsOf(t, "distribution: {name: starter}\nworkload: {storage: {size: '0'}}", fromV1alpha1)) // release 0.9 treated it as no size
	legacy := sampleWith(t, "distribution-only", "workload: {overrides: {volumes: [{name: lls-storage, emptyDir: {}}]}}")
	legacy.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: fromV1alpha1}
	if d := build(t, legacy); !strings.Contains(d.Warnings.Message(), "the volume lls-storage replaces") {
		t.Errorf("a resource of v1alpha1: warnings %v", d.Warnings)
	}
}

// Proves: R73 (the warning names the state, for any source of the configuration).
func TestMultiplePodsWithLocalStateAreReported(t *testing.T) {
	const databases = "storage: {kv: {type: redis, endpoint: 'redis:6379'}, sql: {type: postgres, connectionString: {name: a, key: b}}}\n"
	for name, c := range map[string]struct{ sample, text, path, named, unnamed string }{
		"SQLite":            {"simple", "workload: {replicas: 2}", "spec.workload.replicas", "storage backend sql_default", ""},
		"an autoscaler":     {"simple", "workload: {autoscaling: {maxReplicas: 2}}", "spec.workload.autoscaling.maxReplicas", "provider vector_io/faiss", ""},
		"databases":         {"simple", databases + "workload: {replicas: 2}", "spec.workload.replicas", "provider vector_io/faiss", "storage backend"},
		"the image's own":   {"distribution-only", "workload: {replicas: 2}", "spec.workload.replicas", "storage backend kv_default", ""},
		"one pod":           {"simple", "workload: {replicas: 1}", "", "", ""},
		"one PVC for all":   {"simple", "workload: {replicas: 2, storage: {}}", "spec.workload.storage", "", "its own state"},
		"none of the stuff": {"simple", databases + "workload: {replicas: 2}\ndisabled: [files, vectorIo, eval, datasetio, scoring, responses, batches]", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := sampleWith(t, c.sample, c.text)
			d, _ := buildWith(t.Context(), in)
			var found string
			for _, w := range d.Warnings {
				if w.Reason == problem.EphemeralState {
					found += w.String()
				}
			}
			if !strings.HasPrefix(found, c.path) || !strings.Contains(found, c.named) || (c.path == "") != (found == "") ||
				c.unnamed != "" && strings.Contains(found, c.unnamed) {
				t.Errorf("warned: %s", found)
			}
		})
	}
}

// Proves: R27, R44 (these servers write secrets to /tmp; a mount of the user at /tmp replaces it).
func TestTmpIsInMemoryFromLine12(t *testing.T) {
	const own = "workload: {overrides: {volumes: [{name: tmp, emptyDir: {}}], volumeMounts: [{name: tmp, mountPath: /tmp}]}}"
	const elsewhere = "workload: {overrides: {volumes: [{name: tmp, emptyDir: {}}], volumeMounts: [{name: tmp, mountPath: /scratch}]}}"
	const starter = "docker.io/llamastack/distribution-starter:"
	for image, memory := range map[string]bool{
		"registry.example/mine": false, starter + "0.4.0": false, starter + "0.7.1": false, starter + "1.1.0": false, starter + "1.2.0": true, starter + "1.4.0": true,
	} {
		t.Run(image, func(t *testing.T) {
			tmp := func(text string) (at, medium string, faults problem.List) {
				in := sampleWith(t, "distribution-only", text)
				in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new(image)}
				resolve(t, in, nil)
				d, faults := buildWith(t.Context(), in)
				if len(faults) > 0 {
					return "", "", faults
				}
				pod := deployment(t, d.Objects).Spec.Template.Spec
				for _, v := range pod.Volumes {
					if v.Name == "tmp" {
						medium = "volume " + string(v.EmptyDir.Medium)
					}
				}
				for _, m := range pod.Containers[0].VolumeMounts {
					if m.Name == "tmp" {
						at += m.MountPath
					}
				}
				return at, medium, nil
			}
			want := [2]string{}
			if memory {
				want = [2]string{"/tmp", "volume Memory"}
			}
			if at, medium, faults := tmp("workload: {}"); at != want[0] || medium != want[1] || len(faults) > 0 {
				t.Errorf("mounted at %q, %q, %s", at, medium, faults.Message())
			}
			if at, medium, faults := tmp(own); at != "/tmp" || medium != "volume " || len(faults) > 0 {
				t.Errorf("the user's is mounted at %q, %q, %s", at, medium, faults.Message())
			}
			if at, _, faults := tmp(elsewhere); memory == (len(faults) == 0) || !memory && at != "/scratch" {
				t.Errorf("a volume tmp at another path is mounted at %q, %s", at, faults.Message())
			}
		})
	}
}

// Proves: R41, R104, L-24 (an upgrade creates no policy; a spec in v1alpha2 that asks for it gets one).
func TestNetworkPolicyFlag(t *testing.T) {
	const asks = "networking: {allowedFrom: {namespaces: [a]}}"
	for name, c := range map[string]struct {
		text   string
		flag   *bool
		legacy bool
		want   bool
		warns  bool
	}{
		"unset":                           {"", nil, false, false, false},
		"requested by flag":               {"", new(true), false, true, false},
		"requested in v1alpha2":           {asks, nil, false, true, false},
		"requested in v1alpha2, flag off": {asks, new(false), false, true, false},
		"requested in v1alpha1, flag off": {asks, new(false), true, false, true},
		"requested in v1alpha1, no flag":  {asks, nil, true, false, true},
		"requested in v1alpha1, flag on":  {asks, new(true), true, true, false},
		"unset, v1alpha1":                 {"", new(false), true, false, false},
		"an empty list requests nothing":  {"networking: {allowedFrom: {namespaces: []}}", nil, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := sampleWith(t, "distribution-only", c.text)
			in.NetworkPolicyFlag = c.flag
			if c.legacy {
				in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: fromV1alpha1}
			}
			d := build(t, in)
			if got := slices.Contains(kinds(d.Objects), "NetworkPolicy/plain-stack-network-policy"); got != c.want {
				t.Errorf("policy %v, want %v", got, c.want)
			}
			if got := strings.Contains(d.Warnings.Message(), "enableNetworkPolicy"); got != c.warns {
				t.Errorf("warnings %v", d.Warnings)
			}
			if !c.warns {
				return
			}
			// Written in v1alpha2, the field makes a policy.
			in.CR.ManagedFields = []metav1.ManagedFieldsEntry{{
				APIVersion: v1alpha2.GroupVersion.String(),
				FieldsV1:   metav1.NewFieldsV1(`{"f:spec":{"f:networking":{"f:allowedFrom":{}}}}`),
			}}
			if !strings.Contains(d.Warnings.Message(), "write the field in v1alpha2 (kubectl apply --server-side)") ||
				!slices.Contains(kinds(build(t, in).Objects), "NetworkPolicy/plain-stack-network-policy") {
				t.Errorf("the way out does not help: %v", d.Warnings)
			}
		})
	}
}

// everything sets all fields of spec.workload and spec.networking.
const everything = `
workload:
  replicas: 2
  resources: {requests: {cpu: "2"}}
  autoscaling: {minReplicas: 2, maxReplicas: 4}
  storage: {size: 20Gi, mountPath: /data}
  podDisruptionBudget: {minAvailable: 1}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule}]
  overrides:
    serviceAccountName: mine
    env: [{name: A, value: b}]
    command: [run]
    args: [fast]
    volumes: [{name: v, emptyDir: {}}]
    volumeMounts: [{name: v, mountPath: /v}]
networking:
  port: 9000
  expose: {hostname: a.example}
  allowedFrom: {namespaces: [a]}
`

// Proves: L-10, FR-012 (each field alone changes the objects; without it the result is as if it was never set).
func TestEveryWorkloadFieldShows(t *testing.T) {
	var sections map[string]map[string]any
	framework.NoError(t, yaml.Unmarshal([]byte(everything), &sections))
	bare := asJSON(t, build(t, inputs(t, "distribution-only")).Objects)
	all := asJSON(t, build(t, sampleWith(t, "distribution-only", everything)).Objects)
	for section, fields := range sections {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			without := maps.Clone(fields)
			delete(without, field)
			rest := maps.Clone(sections)
			rest[section] = without
			text, err := yaml.Marshal(rest)
			framework.NoError(t, err)
			in := sampleWith(t, "distribution-only", string(text))
			if got := asJSON(t, withoutHash(build(t, in).Objects)); got == asJSON(t, withoutHash(build(t, sampleWith(t, "distribution-only", everything)).Objects)) && field != "replicas" {
				t.Errorf("%s.%s changes nothing", section, field)
			}
		}
	}
	if bare == all {
		t.Error("nothing changes anything")
	}
}

// withoutHash removes the annotations, which change with every input.
func withoutHash(list []objects.Object) []objects.Object {
	for _, o := range list {
		o.SetAnnotations(nil)
	}
	return list
}

// Proves: R22, R48 (settings that only v1alpha1 has are part of the input hash).
func TestLegacyIsAnInput(t *testing.T) {
	in := inputs(t, "distribution-only")
	before := hashOf(in)
	in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: fromV1alpha1}
	if hashOf(in) == before {
		t.Error("the origin is no input, and the environment depends on it")
	}
	in.CR.Annotations[v1alpha2.ConversionAnnotation] = `{"version":1,"kept":{"spec.server.containerSpec.name":{"was":"main"}}}`
	if hashOf(in) == before || build(t, in).Objects[1].(interface{ GetName() string }).GetName() != "plain-stack" {
		t.Error("the name of the container is no input")
	}
	if got := deployment(t, build(t, in).Objects).Spec.Template.Spec.Containers[0].Name; got != "main" {
		t.Errorf("container %s", got)
	}
}

// Proves: R63, R52 (the bounds of the schema also apply to stored resources, which release 0.9 did not bound).
func TestBuildBoundsLists(t *testing.T) {
	const overrides = "spec.workload.overrides."
	tooMany := func(path string, got, most int) string {
		return fmt.Sprintf("%s: Too many: %d: must have at most %d items: remove some", path, got, most)
	}
	env := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		for i := range count {
			s.Workload.Overrides.Env = append(s.Workload.Overrides.Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", i), Value: "v"})
		}
	}
	volumes := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		for i := range count {
			s.Workload.Overrides.Volumes = append(s.Workload.Overrides.Volumes, corev1.Volume{
				Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
			})
		}
	}
	mounts := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		volumes(s, 1)
		for i := range count {
			s.Workload.Overrides.VolumeMounts = append(s.Workload.Overrides.VolumeMounts, corev1.VolumeMount{Name: "v0", MountPath: fmt.Sprintf("/m%d", i)})
		}
	}
	spread := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		for i := range count {
			s.Workload.TopologySpreadConstraints = append(s.Workload.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: fmt.Sprintf("k%d", i), WhenUnsatisfiable: corev1.ScheduleAnyway,
			})
		}
	}
	texts := func(count int) []string { return slices.Repeat([]string{"a"}, count) }
	command := func(s *v1alpha2.LlamaStackDistributionSpec, count int) { s.Workload.Overrides.Command = texts(count) }
	args := func(s *v1alpha2.LlamaStackDistributionSpec, count int) { s.Workload.Overrides.Args = texts(count) }
	from := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		s.Networking = &v1alpha2.NetworkingSpec{AllowedFrom: &v1alpha2.AllowedFromSpec{Namespaces: texts(count)}}
	}
	labels := func(s *v1alpha2.LlamaStackDistributionSpec, count int) {
		s.Networking = &v1alpha2.NetworkingSpec{AllowedFrom: &v1alpha2.AllowedFromSpec{Labels: texts(count)}}
	}
	const most = limits.Items
	for name, c := range map[string]struct {
		fill       func(*v1alpha2.LlamaStackDistributionSpec, int)
		count      int
		annotation string
		want       string
	}{
		"env":                         {env, limits.EnvironmentEntries, "", ""},
		"one more":                    {env, limits.EnvironmentEntries + 1, "", tooMany(overrides+"env", limits.EnvironmentEntries+1, limits.EnvironmentEntries)},
		"one more, from v1alpha1":     {env, limits.EnvironmentEntries + 1, fromV1alpha1, ""},
		"many more, from v1alpha1":    {env, 10 * limits.EnvironmentEntries, fromV1alpha1, ""},
		"volumes":                     {volumes, most, "", ""},
		"one volume more":             {volumes, most + 1, "", tooMany(overrides+"volumes", most+1, most)},
		"one more volume of v1alpha1": {volumes, most + 1, fromV1alpha1, tooMany(overrides+"volumes", most+1, most)},
		"mounts":                      {mounts, most, "", ""},
		"one mount more":              {mounts, most + 1, "", tooMany(overrides+"volumeMounts", most+1, most)},
		"one argument more":           {args, most + 1, "", tooMany(overrides+"args", most+1, most)},
		"one part more":               {command, most + 1, "", tooMany(overrides+"command", most+1, most)},
		"one constraint more":         {spread, most + 1, "", tooMany("spec.workload.topologySpreadConstraints", most+1, most)},
		"one namespace more":          {from, most + 1, "", tooMany("spec.networking.allowedFrom.namespaces", most+1, most)},
		"one label more":              {labels, most + 1, "", tooMany("spec.networking.allowedFrom.labels", most+1, most)},
	} {
		in := inputs(t, "simple")
		if c.annotation != "" {
			in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: c.annotation}
		}
		in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{Distribution: in.CR.Spec.Distribution} // v1alpha1 fields only
		in.Secrets = nil
		in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}
		c.fill(&in.CR.Spec, c.count)
		_, faults := buildWith(t.Context(), in)
		if got := faults.Errors().Message(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Proves: R72, R49.
func TestPodSpecIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		"workload: {resources: {claims: [{name: gpu}]}}": `spec.workload.resources.claims[0].name: Not found: "gpu": the pod has no such ResourceClaim: ` +
			"add it to spec.workload.resourceClaims, or remove it",
		"workload: {resources: {claims: [{name: gpu}]}, resourceClaims: [{name: gpu, resourceClaimName: a}]}": "",
		"workload: {imagePullSecrets: [{name: a/b}]}":                                                         `spec.workload.imagePullSecrets[0].name: Invalid value: "a/b"`,
		"workload: {podMetadata: {labels: {app: mine}}}":                                                      "spec.workload.podMetadata.labels[app]: Forbidden: the label app is reserved for the operator",
		"workload: {podMetadata: {annotations: {llamastack.io/build: x}}}":                                    "spec.workload.podMetadata.annotations[llamastack.io/build]: Forbidden",
		"workload: {scheduling: {priorityClassName: High}}":                                                   `spec.workload.scheduling.priorityClassName: Invalid value: "High"`,
		"workload: {scheduling: {runtimeClassName: a/b}}":                                                     "spec.workload.scheduling.runtimeClassName: Invalid value",
		"workload: {overrides: {envFrom: [{secretRef: {name: a/b}}]}}":                                        `spec.workload.overrides.envFrom[0].secretRef.name: Invalid value: "a/b"`,
		"workload: {overrides: {envFrom: [{configMapRef: {name: x y}}]}}":                                     "spec.workload.overrides.envFrom[0].configMapRef.name: Invalid value",
		"workload: {scheduling: {tolerations: [{operator: Exists}]}}":                                         "",
		"workload: {podMetadata: {labels: {team: ai}, annotations: {A: x}}}":                                  "",
	} {
		t.Run(text, func(t *testing.T) {
			_, faults := buildWith(t.Context(), sampleWith(t, "simple", text))
			if message := faults.Message(); (want == "") != (message == "") || !strings.Contains(message, want) {
				t.Errorf("got %s, want %s", message, want)
			}
		})
	}
}

// Proves: R63 (the error comes before the encoding, also for v1alpha1, which the webhook never refuses).
func TestBuildBoundsTheSizeOfAWorkload(t *testing.T) {
	in := inputs(t, "simple")
	in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: fromV1alpha1}
	in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{Distribution: in.CR.Spec.Distribution}
	in.Secrets = nil
	for count, want := range map[int]string{1_000: "", 40_000: "spec.workload: Invalid value: must have at most 100000 values: remove some"} {
		terms := make([]corev1.WeightedPodAffinityTerm, count)
		for i := range terms {
			terms[i] = corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: fmt.Sprintf("k%d", i)}}
		}
		in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Scheduling: &v1alpha2.SchedulingSpec{Affinity: &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}}}
		result, faults := buildWith(t.Context(), in)
		if got := faults.Errors().Message(); got != want || (len(result.Objects) == 0) != (want != "") {
			t.Errorf("%d terms: %q and %d objects, want %q", count, got, len(result.Objects), want)
		}
	}
}

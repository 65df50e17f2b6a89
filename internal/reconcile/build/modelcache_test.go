// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// cachePod returns the Deployment, and the source, mount and variables of its model cache.
func cachePod(t *testing.T, in *Inputs) (*appsv1.Deployment, *corev1.VolumeSource, *corev1.VolumeMount, map[string]string) {
	t.Helper()
	d := deploymentIn(build(t, in).Objects)
	pod := &d.Spec.Template.Spec
	var source *corev1.VolumeSource
	for i := range pod.Volumes {
		if pod.Volumes[i].Name == "model-cache" {
			source = &pod.Volumes[i].VolumeSource
		}
	}
	var mount *corev1.VolumeMount
	for i := range pod.Containers[0].VolumeMounts {
		if pod.Containers[0].VolumeMounts[i].Name == "model-cache" {
			mount = &pod.Containers[0].VolumeMounts[i]
		}
	}
	env := map[string]string{}
	for _, v := range pod.Containers[0].Env {
		env[v.Name] = v.Value
	}
	return d, source, mount, env
}

// Proves: R107 (the cache is mounted read-only, and the server downloads nothing; an image comes from its mirror).
func TestModelCacheIsMountedReadOnly(t *testing.T) {
	check := func(what string, mount *corev1.VolumeMount, env map[string]string) {
		t.Helper()
		if mount == nil || !mount.ReadOnly || mount.MountPath+"/hub" != env["HF_HUB_CACHE"] || env["HF_HUB_OFFLINE"] != "1" ||
			env["TRANSFORMERS_OFFLINE"] != "1" || env["HF_HOME"] != "/.llama" {
			t.Errorf("%s: mount %+v, variables %v", what, mount, env)
		}
	}
	in := sampleWith(t, "simple", "workload: {modelCache: {image: 'docker.io/example/models:1'}}")
	in.Mirrors = settings.Mirrors{{Prefix: "docker.io/example", Location: "registry.example.com/mirror"}}
	_, source, mount, env := cachePod(t, in)
	check("an image", mount, env)
	if source == nil || source.Image == nil || source.Image.Reference != "registry.example.com/mirror/models:1" {
		t.Errorf("an image: volume %+v", source)
	}
	hash := hashOf(in)
	if in.Mirrors = nil; hashOf(in) == hash {
		t.Error("without its mirror, the image has the same hash")
	}

	in = sampleWith(t, "simple", "workload: {modelCache: {claimName: models}}")
	_, source, mount, env = cachePod(t, in)
	check("a PVC", mount, env)
	if source == nil || source.PersistentVolumeClaim == nil || *source.PersistentVolumeClaim != (corev1.PersistentVolumeClaimVolumeSource{
		ClaimName: "models", ReadOnly: true}) {
		t.Errorf("a PVC: volume %+v", source)
	}

	_, source, mount, env = cachePod(t, sampleWith(t, "simple", ""))
	if source != nil || mount != nil || env["HF_HUB_OFFLINE"]+env["HF_HUB_CACHE"]+env["TRANSFORMERS_OFFLINE"] != "" {
		t.Errorf("without a cache: volume %+v, mount %+v, variables %v", source, mount, env)
	}

	in = sampleWith(t, "simple", "workload: {modelCache: {claimName: models}, overrides: {env: [{name: HF_HUB_OFFLINE, value: '0'}]}}")
	if _, _, _, env = cachePod(t, in); env["HF_HUB_OFFLINE"] != "0" {
		t.Errorf("a variable of the user: %v", env)
	}
	if d := build(t, in); !strings.Contains(d.Warnings.Message(), "the variable HF_HUB_OFFLINE replaces the operator's own") {
		t.Errorf("a variable of the user: %s", d.Warnings.Message())
	}
}

// Proves: R107 (a cache of the settings is the default, and one of the spec wins).
func TestModelCacheOfTheSettingsIsTheDefault(t *testing.T) {
	const image = "registry.example.com/ai/models:1"
	for text, want := range map[string]string{
		"": image,
		"workload: {modelCache: {image: 'own:1'}}": "own:1",
		"workload: {modelCache: {claimName: own}}": "",
	} {
		in := sampleWith(t, "distribution-only", text)
		before := in.CR.DeepCopy()
		in.CompleteModelCache(image)
		_, source, _, _ := cachePod(t, in)
		if source == nil || (source.Image == nil) != (want == "") || source.Image != nil && source.Image.Reference != want {
			t.Errorf("%q: volume %+v, want %s", text, source, want)
		}
		if text == "" && before.Spec.Workload != nil {
			t.Error("the spec itself has a workload")
		}
	}
}

// Proves: R107 (wrong values, and PVCs that cannot work, are reported by field).
func TestModelCacheIsChecked(t *testing.T) {
	claim := func(modes ...corev1.PersistentVolumeAccessMode) *ClaimFact {
		return &ClaimFact{PVC: &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{AccessModes: modes}}}
	}
	const two = "workload: {replicas: 2, modelCache: {claimName: models}}\n" +
		"storage: {kv: {type: redis, endpoint: 'redis:6379'}, sql: {type: postgres, connectionString: {name: a, key: b}}}\ndisabled: [files, vectorIo, fileProcessors, toolRuntime, eval, datasetio, scoring, responses, batches]"
	for name, c := range map[string]struct {
		text          string
		claim         *ClaimFact
		fault, warned string
		strategy      appsv1.DeploymentStrategyType
	}{
		"both":              {"workload: {modelCache: {claimName: a, image: b}}", nil, "spec.workload.modelCache: Invalid value: must have either image or claimName", "", ""},
		"no image":          {"workload: {modelCache: {image: 'A B'}}", nil, `spec.workload.modelCache.image: Invalid value: "A B": is not an image reference`, "", ""},
		"no name":           {"workload: {modelCache: {claimName: A_b}}", nil, "cannot be the name of a PersistentVolumeClaim", "", ""},
		"the data":          {"workload: {modelCache: {claimName: x}, storage: {claimName: x}}", nil, "spec.workload.modelCache.claimName: Invalid value: \"x\": is the PVC of the server's data", "", ""},
		"a missing PVC":     {"workload: {modelCache: {claimName: models}}", &ClaimFact{}, "spec.workload.modelCache.claimName: PersistentVolumeClaim not found: models (namespace ai)", "", ""},
		"one node":          {two, claim(corev1.ReadWriteOnce), "", "spec.workload.modelCache.claimName: the PVC can be mounted by one node at a time", appsv1.RecreateDeploymentStrategyType},
		"many nodes":        {two, claim(corev1.ReadOnlyMany), "", "", appsv1.RollingUpdateDeploymentStrategyType},
		"one pod, one node": {"workload: {modelCache: {claimName: models}}", claim(corev1.ReadWriteOncePod), "", "", appsv1.RecreateDeploymentStrategyType},
	} {
		t.Run(name, func(t *testing.T) {
			in := sampleWith(t, "simple", c.text)
			in.ModelCacheClaim = c.claim
			d, faults := buildWith(t.Context(), in)
			if got := faults.Message(); (c.fault == "") != (got == "") || !strings.Contains(got, c.fault) {
				t.Errorf("faults %q, want %q", got, c.fault)
			}
			if got := d.Warnings.Message(); (c.warned == "") != (got == "") || !strings.Contains(got, c.warned) {
				t.Errorf("warnings %q, want %q", got, c.warned)
			}
			if name == "a missing PVC" && !faults.Has(problem.WaitingForDependency) {
				t.Errorf("it is not waited for: %+v", faults)
			}
			if made := deploymentIn(d.Objects); c.strategy != "" && (made == nil || made.Spec.Strategy.Type != c.strategy) {
				t.Errorf("Deployment %+v, want strategy %s", made, c.strategy)
			}
		})
	}
}

// Proves: R107, R104 (a server that downloads no models needs no way to Hugging Face).
func TestEgressAllowsNoDownloadsWithAModelCache(t *testing.T) {
	const text = "providers: {inference: [{id: vllm, provider: vllm, endpoint: 'http://vllm:8000'}, {id: own, provider: 'inline::sentence-transformers'}]}\n" +
		"networking: {egress: {mode: Providers}}\n"
	rules := func(workload string) int {
		in := sampleWith(t, "simple", text+workload)
		refreshPods(in)
		return len(in.EgressRules())
	}
	if without, with := rules("workload: null"), rules("workload: {modelCache: {claimName: models}}"); without != with+1 {
		t.Errorf("%d rules without a cache, %d with one", without, with)
	}
}

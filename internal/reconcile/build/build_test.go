// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FLOW, FR-021, FR-023, FR-032.
func TestBuild(t *testing.T) {
	in := inputs(t, "simple")
	before := in.CR.DeepCopy()
	d := build(t, in)
	want := []string{"ServiceAccount/my-stack-sa", "ConfigMap/" + d.ConfigMapName, "Deployment/my-stack", "Service/my-stack-service"}
	if diff := cmp.Diff(want, kinds(d.Objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(d.Held) != 0 || d.HeldBuild != "" {
		t.Errorf("held: %v %s", kinds(d.Held), d.HeldBuild)
	}
	if cm := d.Objects[1].(*corev1.ConfigMap); cm.Data[names.ConfigKey] != string(d.Config.YAML) || len(d.Config.YAML) == 0 {
		t.Error("the ConfigMap does not hold the configuration")
	}
	pod := deployment(t, d.Objects).Spec.Template.Spec
	if got := objects.MountedConfigMap(&pod); got != d.ConfigMapName {
		t.Errorf("the pods mount %q, want %q", got, d.ConfigMapName)
	}
	if got := pod.Containers[0].Image; got != in.Distribution.Image {
		t.Errorf("image %s, want %s", got, in.Distribution.Image)
	}
	env := map[string]corev1.EnvVar{}
	for _, v := range pod.Containers[0].Env {
		env[v.Name] = v
	}
	wantKey := corev1.EnvVar{Name: "LLSD_VLLM_API_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "vllm-creds"}, Key: "token",
	}}}
	if diff := cmp.Diff(wantKey, env[wantKey.Name]); diff != "" {
		t.Errorf("the key (-want +got):\n%s", diff)
	}
	if env["LLAMA_STACK_PORT"].Value != "8321" {
		t.Errorf("LLAMA_STACK_PORT = %q", env["LLAMA_STACK_PORT"].Value)
	}
	if diff := cmp.Diff(before, in.CR); diff != "" {
		t.Errorf("the resource was changed:\n%s", diff)
	}
}

// Proves: R15, US-1.3, R16 (a distribution alone, or an unknown image, runs with its own configuration).
func TestBuildWithoutConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Inputs)
		ports  []string
	}{
		"distribution alone": {func(*Inputs) {}, []string{"LLAMA_STACK_PORT"}},
		"with a port and pods": {func(in *Inputs) {
			in.CR.Spec.Networking = &v1alpha2.NetworkingSpec{Port: new(int32(80))}
			in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Replicas: new(int32(2))}
		}, []string{"LLAMA_STACK_PORT"}},
		"empty sections": {func(in *Inputs) {
			in.CR.Spec.Providers, in.CR.Spec.Resources = &v1alpha2.ProvidersSpec{Inference: open("null")}, &v1alpha2.ResourcesSpec{}
			in.CR.Spec.Storage, in.CR.Spec.Disabled = &v1alpha2.StateStorageSpec{}, []string{}
			in.CR.Spec.ExternalProviders = open(`{}`)
		}, []string{"LLAMA_STACK_PORT"}},
		"unknown image": {func(in *Inputs) {
			in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new("registry.example/mine")}
		}, []string{"LLAMA_STACK_PORT", "OGX_PORT"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			c.change(in)
			resolve(t, in, nil)
			d := build(t, in)
			want := []string{"ServiceAccount/plain-stack-sa", "Deployment/plain-stack", "Service/plain-stack-service"}
			if objects.Replicas(&in.CR.Spec) > 1 {
				want = slices.Insert(want, 1, "PodDisruptionBudget/plain-stack-pdb") // it protects the pods
			}
			if diff := cmp.Diff(want, kinds(d.Objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if d.Config != nil || d.ConfigMapName != "" {
				t.Errorf("a configuration in %q", d.ConfigMapName)
			}
			var ports []string
			for _, v := range deployment(t, d.Objects).Spec.Template.Spec.Containers[0].Env {
				if strings.HasSuffix(v.Name, "_PORT") {
					ports = append(ports, v.Name)
				}
			}
			if diff := cmp.Diff(c.ports, ports); diff != "" {
				t.Errorf("port variables (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R14, R16, FR-027e (the message names the missing part and the fix).
func TestNothingToGenerateFrom(t *testing.T) {
	for name, c := range map[string]struct {
		image, settings string
		reason          problem.Reason
		parts           []string
	}{
		"unknown image": {"registry.example/mine:0.7.1", "", problem.MissingConfigLabels, []string{
			"Distribution image registry.example/mine:0.7.1 missing config labels. Add labels using `crane mutate` or use `overrideConfig` " +
				"to provide configuration manually. See docs/configuration.md for details. You can also register the image with its base configuration in the " +
				"operator's ConfigMap llama-stack-operator-config",
		}},
		"a known name, a line without a base of it": {
			"registry.example/meta:1.4.0", "meta-reference-gpu: {image: 'registry.example/meta:1.4.0'}", problem.MissingConfigLabels, []string{
				"spec.distribution: Invalid value: meta-reference-gpu has a base configuration for release lines 0.3, 0.4, and none for release line 1.4 of the server in image " +
					"registry.example/meta:1.4.0 (tag of the image): use another distribution", "llama-stack-operator-config",
			},
		},
		"unknown release": {
			"registry.example/mine:nightly", "mine: {image: 'registry.example/mine:nightly', config: 'version: 2'}",
			problem.UnknownServerLine, []string{
				"registry.example/mine:nightly", "could be of the release lines 0.3, 0.4, ", "serverVersion", "llama-stack-operator-config",
			},
		},
		"unknown config schema": {
			"registry.example/mine:nightly", "mine: {image: 'registry.example/mine:nightly', config: 'what: 2'}",
			problem.UnknownServerLine, []string{"the server release in image registry.example/mine:nightly is not known, so", "serverVersion"},
		},
		"too old": {
			"registry.example/mine:0.2.23", "", problem.UnsupportedRelease, []string{
				"spec.distribution: Forbidden: the server in image registry.example/mine:0.2.23 is release 0.2.23 (tag of the image), and 0.3 is the oldest",
				"the running server is not changed", "serverVersion",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new(c.image)}
			resolve(t, in, map[string]string{"distributions": c.settings})
			d, faults := fail(t, in)
			if len(faults) != 1 || faults[0].Class != problem.Terminal || faults[0].Reason != c.reason || faults[0].Condition != v1alpha2.ConditionConfigGenerated {
				t.Errorf("faults %+v", faults)
			}
			for _, part := range c.parts {
				if !strings.Contains(faults.Message(), part) {
					t.Errorf("message\n%s\nwant in it\n%s", faults.Message(), part)
				}
			}
			if d.Config != nil {
				t.Error("a configuration from nothing")
			}
		})
	}
}

// Proves: R20, EC-2, R8, R33, FR-073, FR-075 (each message names Secret, key, namespace and field, never the value).
func TestSecretFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fact   SecretFact
		class  problem.Class
		reason problem.Reason
		parts  []string
	}{
		"no such Secret": {
			SecretFact{Lookup: Lookup{State: Missing}}, problem.WaitingForDependency, problem.SecretNotFound, []string{"Secret not found: vllm-creds", "create it"},
		},
		"no such key": {
			SecretFact{Lookup: Lookup{State: KeyMissing, MissingKeys: []string{"token"}, ExistingKeys: []string{"tokens", "user"}}}, problem.WaitingForDependency, problem.SecretNotFound,
			[]string{"has no key", "tokens, user"},
		},
		"empty value": {SecretFact{Lookup: Lookup{State: Empty}}, problem.WaitingForDependency, problem.SecretNotFound, []string{"is empty", "set a value"}},
		"line break": {
			SecretFact{Value: secret.New([]byte(canary + "\n"))}, problem.WaitingForDependency, problem.InvalidSecret, []string{"ends with a line break"},
		},
		"number": {
			SecretFact{Value: secret.New([]byte("8675309"))}, problem.WaitingForDependency, problem.InvalidSecret, []string{"looks like a number"},
		},
		"boolean": {SecretFact{Value: secret.New([]byte("true"))}, problem.WaitingForDependency, problem.InvalidSecret, []string{"looks like a boolean"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			c.fact.Use = in.Secrets[0].Use
			in.Secrets[0] = c.fact
			d, faults := fail(t, in)
			for _, part := range append(c.parts, "vllm-creds", "ai", "token", "spec.providers.inference.apiKey") {
				if !strings.Contains(faults.Message(), part) {
					t.Errorf("message %q: %q is not in it", faults.Message(), part)
				}
			}
			if len(faults) != 1 || faults[0].Class != c.class || faults[0].Reason != c.reason || faults[0].Condition != v1alpha2.ConditionSecretsResolved {
				t.Errorf("faults %+v", faults)
			}
			if strings.Contains(faults.Message(), "8675309") {
				t.Error("the message holds the value")
			}
			if d.Config == nil || d.ConfigMapName == "" {
				t.Error("the configuration is unknown although only a secret value is wrong: ConfigGenerated would not be told")
			}
		})
	}
}

// Proves: FR-003, R25, R7, R8 (the collector's key stays in its Secret, and an earlier variable puts it into the
// header).
func TestTelemetry(t *testing.T) {
	in := inputs(t, "distribution-only")
	in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{
		Telemetry: open(`{"provider": "opentelemetry", "id": "z", "endpoint": "http://collector:4318/a$(B)/", "apiKey": {"name": "otlp", "key": "token"}}`),
	}
	findSecrets(t, in)
	var variables []string
	values := map[string]string{}
	for _, e := range deployment(t, build(t, in).Objects).Spec.Template.Spec.Containers[0].Env {
		variables = append(variables, e.Name)
		values[e.Name] = e.Value
	}
	for name, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/a$$(B)",
		"OTEL_EXPORTER_OTLP_HEADERS":  "authorization=Bearer%20$(LLSD_Z_API_KEY)",
		"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		"OTEL_SERVICE_NAME":           in.CR.Name,
		"LLSD_Z_API_KEY":              "",
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if slices.Index(variables, "LLSD_Z_API_KEY") > slices.Index(variables, "OTEL_EXPORTER_OTLP_HEADERS") {
		t.Errorf("the header stands before the key that it refers to: %v", variables)
	}

	in.Secrets[0].Value = secret.New([]byte("two words"))
	_, faults := fail(t, in)
	if len(faults) != 1 || faults[0].Reason != problem.InvalidSecret || !strings.Contains(faults.Message(), "is not a bearer token") {
		t.Errorf("faults %+v", faults)
	}
	in.Secrets[0].Value = secret.New([]byte("123456"))
	build(t, in)
	in.Secrets[0].Value = secret.Value{} // not read without a cluster
	build(t, in)
}

// Proves: R8, R33 (the server requires a number).
func TestSecretForANumber(t *testing.T) {
	in := inputs(t, "distribution-only")
	in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{VectorIo: open(
		`{"provider": "pgvector", "settings": {"host": "h", "db": "d", "user": "u"}, "port": {"secretKeyRef": {"name": "pg", "key": "p"}}}`)}
	findSecrets(t, in)
	_, faults := fail(t, in)
	if len(faults) != 1 || faults[0].Reason != problem.InvalidSecret || !strings.Contains(faults.Message(), "is not a number") {
		t.Errorf("faults %+v", faults)
	}
	in.Secrets[0].Value = secret.New([]byte("5432"))
	build(t, in)
	in.Secrets[0].Value = secret.Value{} // not read without a cluster
	build(t, in)
}

// Proves: NFR-004, FR-075 (all errors are reported at once, each for its condition).
func TestAllFaultsAtOnce(t *testing.T) {
	in := inputs(t, "multi-provider")
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{MountPath: new("relative")}}
	in.CR.Spec.Resources.Models = append(in.CR.Spec.Resources.Models, *open(`{"name":"m","provider":"nowhere"}`))
	in.Secrets[0].State = Missing
	_, faults := fail(t, in)
	configFaults, secretFaults := faults.For(v1alpha2.ConditionConfigGenerated), faults.For(v1alpha2.ConditionSecretsResolved)
	for _, part := range []string{"spec.workload.storage.mountPath", "spec.resources.models[2]", "nowhere"} {
		if !strings.Contains(configFaults.Message(), part) {
			t.Errorf("%q is not in: %s", part, configFaults.Message())
		}
	}
	if !strings.Contains(secretFaults.Message(), "Secret not found: vllm-creds") || secretFaults.Has(problem.Terminal) {
		t.Errorf("faults of the Secrets: %+v", secretFaults)
	}
}

// Proves: L-07, NFR-001.
func TestBuildIsDeterministic(t *testing.T) {
	in := inputs(t, "multi-provider")
	in.CR.Spec.Providers.Inference = open(`[
		{"id":"a","provider":"vllm","endpoint":"http://a:8000","settings":{"z":1,"y":{"d":1,"c":2,"b":3,"a":4},"x":[1,2]}},
		{"id":"b","provider":"vllm","endpoint":"http://b:8000","apiKey":{"name":"n","key":"k"}},
		{"id":"c","provider":"openai","apiKey":{"name":"n","key":"l"}}]`)
	in.CR.Spec.Resources.Models = in.CR.Spec.Resources.Models[:1]
	findSecrets(t, in)
	var first string
	for i := range framework.Loops(25, 1000) {
		got := asJSON(t, build(t, in))
		if i == 0 {
			first = got
		}
		if got != first {
			t.Fatalf("build %d differs:\n%s", i, cmp.Diff(first, got))
		}
	}
}

// live returns inputs after an upgrade of the operator, with a Deployment of the previous build.
func live(t *testing.T, sample string) *Inputs {
	t.Helper()
	in := inputs(t, sample)
	in.Build = "1.0.0"
	in.Live = deployment(t, build(t, in).Objects).DeepCopy()
	in.Build = "2.0.0"
	return in
}

// Proves: R15, R47 (the built-in image belongs to another distribution, so the configuration is generated).
func TestForeignImage(t *testing.T) {
	for name, want := range map[string]string{
		"starter": "", "remote-vllm": "# Base configuration: remote-vllm\n", "postgres-demo": "type: sql_postgres", "meta-reference-gpu": "- files",
	} {
		in := inputs(t, "distribution-only")
		in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Name: new(name)}
		resolve(t, in, nil)
		d := build(t, in)
		if (d.Config != nil) != (want != "") || (d.Config != nil && !strings.Contains(string(d.Config.YAML), want)) {
			t.Errorf("%s: configuration %v, want %q in it", name, d.Config, want)
		}
	}
	in := inputs(t, "distribution-only")
	in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Name: new("remote-vllm")}
	resolve(t, in, map[string]string{"distributions": "remote-vllm: {image: 'mirror.example/mine:0.7.1'}"})
	if d := build(t, in); d.Config != nil {
		t.Error("a registered image runs its own configuration")
	}
}

// Proves: R16 (releases before 0.3 are refused even without a generated configuration).
func TestTooOldReleaseIsRejectedWithoutConfiguration(t *testing.T) {
	in := inputs(t, "distribution-only")
	in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new("registry.example/mine:0.2.23")}
	resolve(t, in, nil)
	if d, faults := fail(t, in); len(d.Objects) > 0 || faults[0].Reason != problem.UnsupportedRelease {
		t.Errorf("objects %q, faults %v", kinds(d.Objects), faults)
	}
}

// Proves: R16, R48 (an unknown newer release is treated as the newest known release line, with a warning).
func TestNewerRelease(t *testing.T) {
	in := inputs(t, "simple")
	resolve(t, in, map[string]string{"image-overrides": "starter: mirror.example/starter:1.99.0"})
	d := build(t, in)
	want := "spec.distribution: this operator does not know server release 1.99.0 of image mirror.example/starter:1.99.0: " +
		"it is treated like release line " + catalog.Newest() + ", the newest known one before it: "
	if len(d.Warnings) != 1 || !strings.HasPrefix(d.Warnings[0].String(), want) {
		t.Errorf("warnings %q, want one: %s…", d.Warnings.Message(), want)
	}
	if !strings.Contains(string(d.Config.YAML), "# Server release line: "+catalog.Newest()+"\n") {
		t.Errorf("configuration:\n%s", d.Config.YAML)
	}
}

// Proves: R48, L-28.
func TestUpgradeHolds(t *testing.T) {
	in := live(t, "simple")
	d := build(t, in)
	if d.HeldBuild != "1.0.0" {
		t.Errorf("HeldBuild = %q, want the build that made the Deployment", d.HeldBuild)
	}
	mounted := objects.MountedConfigMap(&in.Live.Spec.Template.Spec)
	if d.ConfigMapName != mounted {
		t.Errorf("configuration in %q, want the one that the Deployment mounts, %q", d.ConfigMapName, mounted)
	}
	applied, held := strings.Join(kinds(d.Objects), " "), strings.Join(kinds(d.Held), " ")
	if strings.Contains(applied, "Deployment") || !strings.Contains(held, "Deployment/my-stack") {
		t.Errorf("applied %s, held %s: want the Deployment left alone", applied, held)
	}
	for _, kind := range []string{"ServiceAccount", "Service/"} {
		if !strings.Contains(applied, kind) {
			t.Errorf("%s is not applied: it rolls nothing", kind)
		}
	}
	if d.Config == nil {
		t.Error("the configuration is unknown")
	}
}

// Proves: R48, R91.
func TestUpgradeWithAnotherBuiltInImageHolds(t *testing.T) {
	in := live(t, "simple")
	newer := *in.Distribution
	newer.Image, newer.Release = strings.TrimSuffix(newer.Image, newer.Release)+"0.7.9", "0.7.9"
	in.Distribution = &newer
	if d := build(t, in); d.HeldBuild == "" {
		t.Error("a newer built-in image is rolled out")
	}
}

// Proves: R89 (adoption keeps the pods until the next edit, and creates nothing that only new pods need).
func TestAdoptionHolds(t *testing.T) {
	in := inputs(t, "simple")
	in.Live = &appsv1.Deployment{}
	in.Live.Spec.Template.Spec.Containers = []corev1.Container{{Name: "llama-stack", Image: "registry.example/starter:0.7.0"}}
	before := build(t, in)
	if before.HeldBuild != release09.Build || strings.Join(kinds(before.Held), " ") != "Deployment/my-stack" || before.ConfigMapName != "" {
		t.Fatalf("held: %q, %v, configuration %q", before.HeldBuild, kinds(before.Held), before.ConfigMapName)
	}
	if applied := strings.Join(kinds(before.Objects), " "); applied != "ServiceAccount/my-stack-sa Service/my-stack-service" {
		t.Errorf("applied %s", applied)
	}
	kept := before.Held[0].(*appsv1.Deployment)
	if kept.Annotations[names.AnnotationBuild] != release09.Build || kept.Annotations[names.AnnotationInputHash] != hashOf(in) ||
		kept.Annotations[names.AnnotationAdoptedImage] != "registry.example/starter:0.7.0" {
		t.Errorf("annotations %v", kept.Annotations)
	}

	in.Live.Annotations = kept.Annotations // adopted
	if d := build(t, in); d.HeldBuild != release09.Build || len(d.Held) != 1 {
		t.Errorf("after the adoption, held: %q, %v", d.HeldBuild, kinds(d.Held))
	}
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Workers: new(int32(2))}
	d := build(t, in)
	if got := deployment(t, d.Objects).Annotations[names.AnnotationBuild]; got != in.Build || d.HeldBuild != "" {
		t.Errorf("an edit makes build %q, held %q", got, d.HeldBuild)
	}

	// Release 0.9 overwrote a template of this operator, so the fields are mixed.
	in.Live.Annotations = map[string]string{names.AnnotationInputHash: hashOf(in)}
	if d := build(t, in); d.HeldBuild != "" {
		t.Errorf("a template of both is held: %q", d.HeldBuild)
	}
}

// Proves: R48, R17, R19.
func TestUpgradeHoldsTheMountedConfigMap(t *testing.T) {
	in := live(t, "simple")
	const former = "my-stack-config-0123456789" // a former build wrote other bytes from the same inputs
	for i := range in.Live.Spec.Template.Spec.Volumes {
		if source := in.Live.Spec.Template.Spec.Volumes[i].ConfigMap; source != nil {
			source.Name = former
		}
	}
	d := build(t, in)
	if d.ConfigMapName != former {
		t.Errorf("configuration in %q, want %q", d.ConfigMapName, former)
	}
	for _, name := range kinds(d.Objects) {
		if strings.HasPrefix(name, "ConfigMap/") {
			t.Errorf("%s is written and nothing mounts it", name)
		}
	}
	wanted := strings.Join(append(kinds(d.Objects), kinds(d.Held)...), " ")
	if !strings.Contains(wanted, "ConfigMap/"+former) {
		t.Errorf("wanted are %s: the ConfigMap that the Deployment mounts is not among them", wanted)
	}
}

// Proves: R27, R47 (another image or distribution name keeps the state directory).
func TestStateDirectoryIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		storage *v1alpha2.PVCStorageSpec
		change  func(in *Inputs)
		want    string
	}{
		"another name":               {&v1alpha2.PVCStorageSpec{}, func(in *Inputs) { in.CR.Spec.Distribution.Name = new("remote-vllm") }, "starter"},
		"another path of the volume": {&v1alpha2.PVCStorageSpec{}, func(in *Inputs) { in.CR.Spec.Workload.Storage.MountPath = new("/data") }, "starter"},
		"without a claim":            {nil, func(in *Inputs) { in.CR.Spec.Distribution.Name = new("remote-vllm") }, "remote-vllm"},
		"a new claim": {nil, func(in *Inputs) {
			in.CR.Spec.Distribution.Name, in.CR.Spec.Workload.Storage = new("remote-vllm"), &v1alpha2.PVCStorageSpec{}
		}, "remote-vllm"},
		"no Deployment any more": {&v1alpha2.PVCStorageSpec{}, func(in *Inputs) { in.CR.Spec.Distribution.Name, in.Live = new("remote-vllm"), nil }, "remote-vllm"},
		"one of release 0.9": {&v1alpha2.PVCStorageSpec{}, func(in *Inputs) {
			in.CR.Spec.Distribution.Name = new("remote-vllm")
			mounts := in.Live.Spec.Template.Spec.Containers[0].VolumeMounts
			for i := range mounts {
				if mounts[i].SubPath != "" {
					mounts[i].SubPath = "of-the-user"
				}
			}
		}, "remote-vllm"},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			in.CR.Spec.Workload.Storage = c.storage
			in.Live = deployment(t, build(t, in).Objects)
			c.change(in)
			resolve(t, in, nil)
			s := deployment(t, build(t, in).Objects).Spec.Template.Spec.Containers[0]
			var state, dir string
			for _, v := range s.Env {
				if v.Name == "SQLITE_STORE_DIR" {
					state = v.Value
				}
			}
			for _, m := range s.VolumeMounts {
				if m.MountPath == state {
					dir = m.SubPath
				}
			}
			if want := "distributions/" + c.want; dir != want || !strings.HasSuffix(state, want) {
				t.Errorf("the state is in %s, which is %q of the volume; want %s", state, dir, want)
			}
		})
	}
}

// Proves: R48, FR-026.
func TestHoldIsReleased(t *testing.T) {
	for name, change := range map[string]func(*testing.T, *Inputs){
		"an edit": func(_ *testing.T, in *Inputs) { in.CR.Spec.Workload.Replicas = new(int32(2)) },
		"an edit of an open field": func(_ *testing.T, in *Inputs) {
			in.CR.Spec.Resources.Models = append(in.CR.Spec.Resources.Models, *open(`"another"`))
		},
		"a rotated secret": func(_ *testing.T, in *Inputs) { in.Secrets[0].Value = secret.New([]byte("rotated")) },
		"changed settings": func(t *testing.T, in *Inputs) {
			resolve(t, in, map[string]string{"image-overrides": "starter: mirror.example/starter:0.7.1"})
		},
		"a lost hash key":         func(_ *testing.T, in *Inputs) { in.HashKey = secret.New([]byte("new")) },
		"the build of the object": func(_ *testing.T, in *Inputs) { in.Build = "1.0.0" },
		"a removed ConfigMap":     func(_ *testing.T, in *Inputs) { in.LiveConfigMissing = true },
		"pods of release 0.9 go":  func(_ *testing.T, in *Inputs) { release09.HoldRollout(in.Live) },
		"a removed Deployment":    func(_ *testing.T, in *Inputs) { in.Live = nil },
		"a Deployment on its way out": func(_ *testing.T, in *Inputs) {
			in.Live.DeletionTimestamp = new(in.Live.CreationTimestamp)
		},
		"a Deployment of another operator": func(_ *testing.T, in *Inputs) { in.Live.Annotations = nil },
	} {
		t.Run(name, func(t *testing.T) {
			in := live(t, "simple")
			change(t, in)
			d := build(t, in)
			if d.HeldBuild != "" || len(d.Held) > 0 {
				t.Errorf("held: %s, %v", d.HeldBuild, kinds(d.Held))
			}
			got := deployment(t, d.Objects)
			if got.Annotations[names.AnnotationBuild] != in.Build {
				t.Errorf("made by %q, want %q", got.Annotations[names.AnnotationBuild], in.Build)
			}
			pod := got.Spec.Template.Spec
			if objects.MountedConfigMap(&pod) != d.ConfigMapName || !strings.Contains(strings.Join(kinds(d.Objects), " "), "ConfigMap/"+d.ConfigMapName) {
				t.Errorf("the ConfigMap %s is not applied or not mounted", d.ConfigMapName)
			}
		})
	}
}

// Proves: R19 (nothing is applied).
func TestErrorsPreventHeldBuild(t *testing.T) {
	in := live(t, "simple")
	in.Secrets[0].State = Missing
	if d, _ := fail(t, in); d.HeldBuild != "" {
		t.Errorf("held by %s", d.HeldBuild)
	}
}

// Proves: R12 (warnings do not keep a spec from being applied).
func TestWarningsAreKept(t *testing.T) {
	in := inputs(t, "simple")
	in.CR.Spec.Providers.Inference = open(`{"provider":"homegrown","endpoint":"http://x:1"}`)
	findSecrets(t, in)
	d := build(t, in)
	if len(d.Warnings) == 0 || d.Warnings[0].Severity != problem.Warning || !strings.Contains(d.Warnings.Message(), "spec.providers.inference") {
		t.Errorf("warnings %v, want one that names the provider", d.Warnings)
	}
	if !bytes.Contains(d.Config.YAML, []byte("remote::homegrown")) {
		t.Error("the provider is not in the configuration")
	}
}

// Proves: R33.
func TestNumberForAnUnknownType(t *testing.T) {
	in := inputs(t, "simple")
	in.CR.Spec.Providers.Inference = open(`{"provider":"homegrown","endpoint":"http://x:1","secretRefs":{"pin":{"name":"n","key":"k"}}}`)
	findSecrets(t, in)
	in.Secrets[0].Value = secret.New([]byte("8675309"))
	d := build(t, in)
	if got := d.Warnings.Message(); !strings.Contains(got, "spec.providers.inference.secretRefs[pin]") || strings.Contains(got, "8675309") {
		t.Errorf("warnings %q, want one that names the field and not the value", got)
	}
}

// Proves: R34 (a name that is invalid for a Service is an error).
func TestResourceName(t *testing.T) {
	for name, right := range map[string]bool{
		"a": true, "my-stack-2": true, strings.Repeat("a", 55): true,
		strings.Repeat("a", 56): false, "my.stack": false, "1st": false, "a-": false, "-a": false, "": false,
	} {
		in := inputs(t, "distribution-only")
		in.CR.Name = name
		d, faults := buildWith(t.Context(), in)
		if right && len(faults) > 0 || !right && (len(d.Objects) > 0 || !strings.HasPrefix(faults.Message(), "metadata.name: ")) {
			t.Errorf("%q: faults %q, objects %v", name, faults.Message(), kinds(d.Objects))
		}
	}
}

// Proves: R63 (Build stops with its context, and a late result is not applied).
func TestBuildEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, sample := range []string{"distribution-only", "simple", "multi-provider"} {
		in := inputs(t, sample)
		findSecrets(t, in)
		got, problems := buildWith(ended, in)
		if len(got.Objects) > 0 || problems.Reason() != problem.LookupFailed || problems.Has(problem.Terminal) || strings.Count(problems.Message(), "not complete") != 1 {
			t.Errorf("%s: %d objects, %v", sample, len(got.Objects), problems)
		}
	}
}

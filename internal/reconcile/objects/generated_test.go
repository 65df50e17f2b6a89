// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const keyedHash = "0123456789abcdef0123456789abcdef"

// everything returns parameters that need all generated objects.
func everything(t *testing.T) *objects.Params {
	t.Helper()
	return with(t, func(p *objects.Params) {
		p.CABundle = "a certificate"
		p.Env = append(p.Env,
			serverconfig.EnvVar{Name: "LLSD_HOST", Part: environment.PostgresURLDatabase, Ref: parse.SecretReference{Name: "db", Key: "dsn"}},
			serverconfig.EnvVar{Name: "LLSD_NO_SUCH_PART", Part: environment.PostgresURLDatabase, Ref: parse.SecretReference{Name: "db", Key: "dsn"}},
			serverconfig.EnvVar{Name: "PLAIN", Value: "plain"})
		p.Derived = map[string]secret.Value{"LLSD_HOST": secret.New([]byte("canary"))}
		p.DerivedName = names.DerivedSecretName(p.CR.Name, keyedHash)
	})
}

// Proves: L-05, FR-022 (generated names follow from the content, and the pod refers to all of them).
func TestPodReferencesGeneratedObjects(t *testing.T) {
	p := everything(t)
	got := objects.GeneratedFor(p.CR.Name, pod(p))
	want := objects.Generated{
		Config: objects.ConfigMap(p).Name, CABundle: objects.CABundle(p).Name, DerivedSecret: objects.DerivedSecret(p).Name,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("generated for the pod (-want +got):\n%s", diff)
	}
	for _, name := range []string{got.Config, got.CABundle, got.DerivedSecret} {
		family := objects.Family(name)
		if !strings.HasPrefix(family, "my-stack-") || !strings.HasSuffix(family, "-") || len(name)-len(family) != 10 {
			t.Errorf("%s is of the family %s", name, family)
		}
	}
	nothing := with(t, func(p *objects.Params) { p.Config = nil })
	if got := objects.GeneratedFor("my-stack", pod(nothing)); got != (objects.Generated{}) {
		t.Errorf("generated for a pod without anything: %+v", got)
	}
	if objects.CABundle(nothing) != nil || objects.DerivedSecret(nothing) != nil || objects.ConfigMap(nothing) != nil {
		t.Error("an object without content")
	}
	for name, of := range map[string]bool{
		"my-stack-env-0123456789": true, "my-stack-env-" + secret.OnCluster: true, "my-stack-env-0123456789a": false, "my-stack-env-vars": false,
		"other-env-0123456789": false, "my-stack-0123456789": false,
	} {
		spec := &corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "A"}, {Name: "B", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}},
		}}, {Name: "C", ValueFrom: &corev1.EnvVarSource{}}}}}}
		if got := objects.GeneratedFor("my-stack", spec).DerivedSecret; (got == name) != of {
			t.Errorf("%s: the pod's derived Secret is %q", name, got)
		}
	}
}

func TestGeneratedOfTwoPodsAreMatchedByKind(t *testing.T) {
	old, current := objects.Generated{Config: "c1", CABundle: "b1", DerivedSecret: "s1"}, objects.Generated{Config: "c2", CABundle: "b2", DerivedSecret: "s2"}
	for _, c := range []struct{ kind, name, want string }{
		{"ConfigMap", "c1", "c2"}, {"ConfigMap", "b1", "b2"}, {"Secret", "s1", "s2"}, {"Secret", "c1", ""}, {"Secret", "b1", ""}, {"ConfigMap", "s1", ""}, {"ConfigMap", "c2", ""},
	} {
		got, ok := current.Counterpart(old, c.kind, c.name)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("in place of %s %s: %q, %v", c.kind, c.name, got, ok)
		}
		if has := old.Has(c.kind, c.name); has != (c.want != "") {
			t.Errorf("has %s %s: %v", c.kind, c.name, has)
		}
	}
}

// Proves: R7, R54 (the derived Secret is immutable, and the pod refers to it).
func TestDerivedValuesReachThePodByReference(t *testing.T) {
	p := everything(t)
	made := objects.DerivedSecret(p)
	if made.Immutable == nil || !*made.Immutable || made.Type != corev1.SecretTypeOpaque || made.Namespace != "ai" || made.Name != "my-stack-env-0123456789" ||
		len(made.Data) != 1 || string(made.Data["LLSD_HOST"]) != "canary" {
		t.Errorf("derived Secret %+v", made)
	}
	env := variables(t, p)
	if env["LLSD_HOST"] != made.Name+"/LLSD_HOST" || env["PLAIN"] != "plain" || env["LLSD_VLLM_API_KEY"] != "vllm-creds/token" {
		t.Errorf("environment %v", env)
	}
	if _, there := env["LLSD_NO_SUCH_PART"]; there {
		t.Error("a part that the value does not have is a variable")
	}
}

// Proves: FR-063, R66 (the image's Python adds the bundle to its own roots, and the variables of all clients name the
// result).
func TestCABundleIsMountedAndNamed(t *testing.T) {
	p := everything(t)
	bundle := objects.CABundle(p)
	if bundle.Immutable == nil || !*bundle.Immutable || !maps.Equal(bundle.Data, map[string]string{"ca-bundle.crt": "a certificate"}) {
		t.Errorf("CA bundle %+v", bundle)
	}
	env, at := variables(t, p), mount(server(t, p), "/etc/ssl/certs/ca-bundle")
	if at == nil || !at.ReadOnly || volume(pod(p), at.Name).ConfigMap.Name != bundle.Name {
		t.Errorf("mount %+v", at)
	}
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "AWS_CA_BUNDLE"} {
		if env[name] != objects.TrustPath {
			t.Errorf("%s=%s", name, env[name])
		}
	}
	init := pod(p).InitContainers[0]
	reads, writes, shows := mount(&init, "/etc/ssl/certs/ca-bundle"), mount(&init, path.Dir(objects.TrustPath)), mount(server(t, p), path.Dir(objects.TrustPath))
	if reads == nil || reads.Name != at.Name || writes == nil || writes.ReadOnly || shows == nil || !shows.ReadOnly || shows.Name != writes.Name ||
		volume(pod(p), writes.Name).EmptyDir.SizeLimit == nil {
		t.Errorf("mounts %+v, and of the server %+v", init.VolumeMounts, shows)
	}
	if init.Image != p.Image || init.Command[0] != "python3" || !slices.Equal(init.Command[3:], []string{"/etc/ssl/certs/ca-bundle/ca-bundle.crt", objects.TrustPath}) {
		t.Errorf("image %s, command %v", init.Image, init.Command)
	}
}

// A placeholder replaces hashes that only the cluster knows.
func TestNamesOffline(t *testing.T) {
	for _, got := range []string{
		names.ConfigMapName("a", []byte(secret.OnCluster)), names.CABundleName("a", secret.OnCluster), names.DerivedSecretName("a", secret.OnCluster),
	} {
		if !strings.HasSuffix(got, "-"+secret.OnCluster) {
			t.Errorf("name %s", got)
		}
	}
	if a, b := names.CABundleName("a", "1"), names.CABundleName("a", "2"); a == b || !strings.HasPrefix(a, "a-ca-bundle-") || len(a) != len("a-ca-bundle-")+10 {
		t.Errorf("names %s and %s", a, b)
	}
	p := with(t, func(p *objects.Params) { p.Config = []byte(secret.OnCluster) })
	if got := objects.Deployment(p).Spec.Template.Annotations[names.AnnotationConfigHash]; got != secret.OnCluster {
		t.Errorf("hash %s", got)
	}
}

// Proves: R45.
func TestLegacyVariables(t *testing.T) {
	p := with(t, func(p *objects.Params) {
		p.Legacy.FromV1alpha1 = true
		p.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Workers: new(int32(3))}
		p.CR.Spec.Networking = &v1alpha2.NetworkingSpec{Port: new(int32(9000))}
	})
	env := variables(t, p)
	for name, want := range map[string]string{"LLS_WORKERS": "3", "LLS_PORT": "9000", "LLAMA_STACK_CONFIG": "/etc/llama-stack/config.yaml"} {
		if env[name] != want {
			t.Errorf("%s=%q, want %q", name, env[name], want)
		}
	}
	if _, there := variables(t, simple(t))["LLS_PORT"]; there {
		t.Error("a resource of v1alpha2 has the variables of release 0.9")
	}
	p.CR.Spec.Workload = nil
	if got := variables(t, p)["LLS_WORKERS"]; got != "1" {
		t.Errorf("without workers: %s", got)
	}
}

// Proves: R55.
func TestOperatorLabels(t *testing.T) {
	labels := maps.Clone(objects.Deployment(simple(t)).Labels)
	labels["theirs"] = "canary"
	want := map[string]string{"app": "llama-stack", "app.kubernetes.io/instance": "my-stack", "app.kubernetes.io/managed-by": "llama-stack-operator"}
	if diff := cmp.Diff(want, names.OwnLabels(labels)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got := names.OwnLabels(map[string]string{"app": "x"}); !maps.Equal(got, map[string]string{"app": "x"}) {
		t.Errorf("labels %v", got)
	}
}

// Proves: L-05 (applied content has no status and no creation time).
func TestContentOmitsFieldsSetByTheAPIServer(t *testing.T) {
	content, err := objects.Content(objects.Deployment(simple(t)))
	if err != nil {
		t.Fatal(err)
	}
	template := content["spec"].(map[string]any)["template"].(map[string]any)["metadata"].(map[string]any)
	for _, at := range []map[string]any{content["metadata"].(map[string]any), template} {
		if _, there := at["creationTimestamp"]; there {
			t.Errorf("a time of creation in %v", at)
		}
		if at["labels"] == nil {
			t.Errorf("no labels in %v", at)
		}
	}
	if _, there := content["status"]; there || content["kind"] != "Deployment" {
		t.Errorf("content %v", content)
	}
}

// Proves: R43 (state stays in the directory of the running pods).
func TestStateDir(t *testing.T) {
	p := workload(t, "workload: {storage: {}}")
	live := pod(p).DeepCopy()
	if got := objects.StateDir(p.CR, "other", live); got != "distributions/starter" {
		t.Errorf("state of a running server: %s", got)
	}
	for name, c := range map[string]struct {
		change func(*v1alpha2.LlamaStackDistribution, *corev1.PodSpec) *corev1.PodSpec
		want   string
	}{
		"nothing runs":  {func(*v1alpha2.LlamaStackDistribution, *corev1.PodSpec) *corev1.PodSpec { return nil }, "distributions/other"},
		"another claim": {func(cr *v1alpha2.LlamaStackDistribution, d *corev1.PodSpec) *corev1.PodSpec { cr.Name = "x"; return d }, "distributions/other"},
		"the claim goes": {func(cr *v1alpha2.LlamaStackDistribution, d *corev1.PodSpec) *corev1.PodSpec {
			cr.Spec.Workload = nil
			return d
		}, "distributions/other"},
		"elsewhere on the claim": {func(_ *v1alpha2.LlamaStackDistribution, d *corev1.PodSpec) *corev1.PodSpec {
			for i := range d.Containers[0].VolumeMounts {
				if m := &d.Containers[0].VolumeMounts[i]; m.SubPath != "" {
					m.SubPath = "mine/starter"
				}
			}
			return d
		}, "distributions/other"},
		"on another volume": {func(_ *v1alpha2.LlamaStackDistribution, d *corev1.PodSpec) *corev1.PodSpec {
			for i := range d.Containers[0].VolumeMounts {
				d.Containers[0].VolumeMounts[i].Name = "x"
			}
			return d
		}, "distributions/other"},
	} {
		cr := p.CR.DeepCopy()
		if got := objects.StateDir(cr, "other", c.change(cr, live.DeepCopy())); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := objects.StateDir(p.CR, "", nil); got != "" {
		t.Errorf("without a distribution: %q", got)
	}
}

// Proves: L-22 (mounted objects are found in all kinds of volumes).
func TestPodMounts(t *testing.T) {
	source := func(s corev1.VolumeSource) *corev1.PodSpec {
		return &corev1.PodSpec{Volumes: []corev1.Volume{{Name: "first"}, {Name: "v", VolumeSource: s}}}
	}
	ref := corev1.LocalObjectReference{Name: "a"}
	for name, c := range map[string]struct {
		pod              *corev1.PodSpec
		configMap, claim bool
	}{
		"nothing":       {source(corev1.VolumeSource{}), false, false},
		"ConfigMap":     {source(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}), true, false},
		"another":       {source(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}), false, false},
		"claim":         {source(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "a"}}), false, true},
		"another claim": {source(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "b"}}), false, false},
		"projected": {source(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{}}, {ConfigMap: &corev1.ConfigMapProjection{}}, {ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref}},
		}}}), true, false},
		"projected, another": {source(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: ref}}, {ConfigMap: &corev1.ConfigMapProjection{}},
		}}}), false, false},
	} {
		if got := objects.MountsConfigMap(c.pod, "a"); got != c.configMap {
			t.Errorf("%s: mounts the ConfigMap: %v", name, got)
		}
		if got := objects.MountsPVC(c.pod, "a"); got != c.claim {
			t.Errorf("%s: mounts the claim: %v", name, got)
		}
	}
}

// Proves: R43 (the CPU request for workers is reported if the spec sets none).
func TestCPUForWorkers(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "workload: {workers: 1}": 0, "workload: {workers: 2}": 2, "workload: {workers: 3, resources: {}}": 3,
		"workload: {workers: 3, resources: {requests: {cpu: 500m}}}":   0,
		"workload: {workers: 3, resources: {requests: {memory: 1Gi}}}": 3,
		"workload: {workers: 3, resources: {limits: {cpu: '2'}}}":      0,
		"workload: {workers: 3, resources: {limits: {cpu: '3'}}}":      3,
		"workload: {workers: 3, resources: {limits: {memory: 1Gi}}}":   3,
	} {
		if got := objects.CPUForWorkers(&workload(t, text).CR.Spec); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// Proves: R78.
func TestSelects(t *testing.T) {
	d := objects.Deployment(simple(t))
	if !names.Selects(d, "my-stack") || names.Selects(d, "other") {
		t.Errorf("selector %v", d.Spec.Selector)
	}
	d.Spec.Selector.MatchExpressions = slices.Grow(d.Spec.Selector.MatchExpressions, 1)[:1]
	if names.Selects(d, "my-stack") {
		t.Error("a selector with expressions is another one")
	}
	d.Spec.Selector = nil
	if names.Selects(d, "my-stack") {
		t.Error("a Deployment without a selector selects")
	}
}

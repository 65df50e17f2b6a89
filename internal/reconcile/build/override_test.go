// SPDX-License-Identifier: Apache-2.0

package build

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// complete has all that a server needs but the section server.
const complete = "version: 2\nimage_name: mine\nproviders: {}\nstorage: {backends: {kv_default: {type: kv_sqlite, " +
	"db_path: /.llama/kv.db}, sql_default: {type: sql_sqlite, db_path: /.llama/sql.db}}}\n"

const ownConfig = "# mine: keep every byte\r\n" + complete + "server: {port: 1024}\n"

// overriding returns inputs with spec.overrideConfig.
func overriding(t *testing.T) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	in.CR.Spec.OverrideConfig = &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
	findOverride(t, in, ownConfig)
	return in
}

// Proves: R45, US-6.1, FR-027g, R27 (the ConfigMap is immutable and has the user's bytes, and the file decides the
// state directory).
func TestOverride(t *testing.T) {
	in := overriding(t)
	d := build(t, in)
	var cm *corev1.ConfigMap
	for _, o := range d.Objects {
		if c, ok := o.(*corev1.ConfigMap); ok {
			cm = c
		}
	}
	if cm == nil || cm.Data[names.ConfigKey] != ownConfig || cm.Immutable == nil || !*cm.Immutable || cm.Name != d.ConfigMapName {
		t.Fatalf("ConfigMap %+v, named %s", cm, d.ConfigMapName)
	}
	pod := deployment(t, d.Objects).Spec.Template.Spec
	if objects.MountedConfigMap(&pod) != cm.Name || d.Config != nil || len(d.Warnings) > 0 {
		t.Errorf("mounted is %s, generated %v, warnings %v", objects.MountedConfigMap(&pod), d.Config, d.Warnings)
	}
	objectNames := []string{}
	for _, v := range pod.Containers[0].Env {
		objectNames = append(objectNames, v.Name)
	}
	if slices.Contains(objectNames, "SQLITE_STORE_DIR") || !slices.Contains(objectNames, "RUN_CONFIG_PATH") {
		t.Errorf("environment %v", objectNames)
	}

	edited := overriding(t)
	edited.Override.Content = append(edited.Override.Content, "# more\n"...)
	if other := build(t, edited); other.ConfigMapName == d.ConfigMapName || hashOf(edited) == hashOf(in) {
		t.Error("an edit of the ConfigMap changes nothing")
	}
	image := overriding(t)
	image.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new("registry.example/any@sha256:0")}
	resolve(t, image, nil)
	if d := build(t, image); d.ConfigMapName == "" {
		t.Error("an image that nothing is known of cannot run with the user's configuration")
	}
	unknown := overriding(t)
	unknown.Override.Content = []byte(secret.OnCluster)
	if d := build(t, unknown); d.ConfigMapName != "bare-config-<on-cluster>" && !strings.HasSuffix(d.ConfigMapName, "-config-<on-cluster>") {
		t.Errorf("without a cluster the ConfigMap is %s", d.ConfigMapName)
	}
}

// Proves: R16, R45.
func TestOverrideWithoutStorageIsWarnedOf(t *testing.T) {
	for version, want := range map[string]string{
		"0.3.0": "the file has no section storage", "0.4.7": "of release line 0.4 then keeps its state in a directory that is lost",
		"0.5.0": "of release line 0.5 before 0.5.1 then keeps", "0.5.1": "", catalog.Newest(): "",
	} {
		for text, silent := range map[string]bool{"version: 2": want == "", "storage: {backends: {}}": true} {
			in := overriding(t)
			in.Override.Content = []byte(text)
			in.Distribution.Line, _ = catalog.ForVersion(version)
			d := build(t, in)
			said := d.Warnings.Message()
			if warned := strings.Contains(said, "no section storage"); warned == silent || !silent && !strings.Contains(said, want) {
				t.Errorf("release %s, %s: %q", version, text, said)
			}
		}
	}
}

// Proves: R97 (each key of the ConfigMap is a file in the pod; a run.yaml alone is the configuration).
func TestOverrideMountsAllKeys(t *testing.T) {
	for name, c := range map[string]struct {
		text    map[string]string
		binary  map[string][]byte
		state   State
		content string
		files   []string
	}{
		"configuration alone": {text: map[string]string{"config.yaml": "a"}, content: "a"},
		"run.yaml alone":      {text: map[string]string{"run.yaml": "a"}, content: "a", files: []string{"run.yaml"}},
		"run.yaml beside it":  {text: map[string]string{"config.yaml": "a", "run.yaml": "b"}, content: "a", files: []string{"run.yaml"}},
		"run.yaml and another": {
			text: map[string]string{"run.yaml": "a", "policy.json": "{}"}, state: KeyMissing,
		},
		"binary": {
			text: map[string]string{"config.yaml": "a"}, binary: map[string][]byte{"model.bin": {0xff}}, content: "a", files: []string{"model.bin"},
		},
	} {
		in := overriding(t)
		in.Override.Content = nil
		in.Override.Read(c.text, c.binary)
		got := slices.Sorted(maps.Keys(in.Override.Files))
		if in.Override.State != c.state || string(in.Override.Content) != c.content || !slices.Equal(got, c.files) {
			t.Errorf("%s: %+v", name, in.Override)
		}
	}
	in := overriding(t)
	alone := build(t, in)
	in.Override.Files = map[string][]byte{"run.yaml": []byte("b"), "model.bin": {0xff}}
	with := build(t, in)
	cm := with.Objects[slices.IndexFunc(with.Objects, func(o objects.Object) bool {
		_, is := o.(*corev1.ConfigMap)
		return is
	})].(*corev1.ConfigMap)
	pod := deployment(t, with.Objects).Spec.Template
	before := deployment(t, alone.Objects).Spec.Template
	if cm.Data["run.yaml"] != "b" || cm.BinaryData["model.bin"][0] != 0xff || cm.Data[names.ConfigKey] != ownConfig ||
		objects.MountedConfigMap(&pod.Spec) != cm.Name || cm.Name == alone.ConfigMapName || cm.Name != with.ConfigMapName {
		t.Errorf("%+v, mounted %s", cm, objects.MountedConfigMap(&pod.Spec))
	}
	if pod.Annotations[names.AnnotationConfigHash] == before.Annotations[names.AnnotationConfigHash] {
		t.Error("another file causes no rollout")
	}
	if hash := hashOf(in); hash == hashOf(overriding(t)) {
		t.Error("another file does not change the input hash")
	}
}

// Proves: R39, FR-062 (HTTPS needs certificate and key).
func TestOverrideScheme(t *testing.T) {
	for text, want := range map[string]struct {
		scheme corev1.URIScheme
		tcp    bool
	}{
		"version: 2":                                                      {"HTTP", false},
		"server: {tls_certfile: /a}":                                      {"HTTP", false},
		"server: {tls_certfile: /a, tls_keyfile: /b}":                     {"HTTPS", false},
		"server: {tls_certfile: /a, tls_keyfile: /b, tls_cafile: /c}":     {"HTTPS", true},
		"server: {tls_certfile: '${env.A:=}', tls_keyfile: '${env.B:=}'}": {"HTTP", false},
	} {
		in := overriding(t)
		in.Override.Content = []byte(text)
		d := build(t, in)
		probe := deployment(t, d.Objects).Spec.Template.Spec.Containers[0].ReadinessProbe
		if (probe.TCPSocket != nil) != want.tcp || probe.HTTPGet != nil && probe.HTTPGet.Scheme != want.scheme || d.Scheme() != want.scheme {
			t.Errorf("%s: scheme %s, probe %+v", text, d.Scheme(), probe)
		}
	}
	if d := build(t, inputs(t, "simple")); d.Scheme() != corev1.URISchemeHTTP {
		t.Errorf("a generated configuration speaks %s", d.Scheme())
	}
}

// Proves: US-6.2, US-6.3, R20, R45, FR-013, FR-074 (a missing object clears without an edit, exclusive fields need
// one).
func TestOverrideFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Inputs)
		class  problem.Class
		reason problem.Reason
		want   []string
	}{
		"no such ConfigMap": {func(in *Inputs) { in.Override.State = Missing }, problem.WaitingForDependency, problem.ConfigMapNotFound,
			[]string{"ConfigMap not found: mine", "namespace ai", "spec.overrideConfig.configMapName", `"config.yaml"`}},
		"no such key": {func(in *Inputs) {
			in.Override.Lookup = Lookup{State: KeyMissing, MissingKeys: []string{"config.yaml"}, ExistingKeys: []string{"run.yaml"}}
		},
			problem.WaitingForDependency, problem.ConfigMapNotFound, []string{`no key "config.yaml"`, "run.yaml", "spec.overrideConfig.configMapName"}},
		"no configuration": {func(in *Inputs) { in.Override.Content = []byte("- a list") }, problem.WaitingForDependency, problem.InvalidConfigMap,
			[]string{"not a map", "ai/mine"}},
		"not watched": {func(in *Inputs) { in.Override.State, in.Override.Ref.Namespace = NotWatched, "far" }, problem.Terminal, problem.ForbiddenBySettings,
			[]string{"namespace far", "copy it"}},
		"forbidden": {func(in *Inputs) { in.Override.State, in.Override.Ref.Namespace = Forbidden, "far" }, problem.Terminal, problem.ForbiddenBySettings,
			[]string{"namespace far", "does not allow"}},
		"excluded": {func(in *Inputs) {
			in.CR.Spec.Disabled = []string{"eval"}
			in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{Inference: &apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm"}`)}}
		}, problem.Terminal, problem.ConflictingFields, []string{"spec.overrideConfig: Forbidden: excludes spec.providers, spec.disabled"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := overriding(t)
			c.change(in)
			_, faults := fail(t, in)
			f := faults[0]
			if f.Class != c.class || f.Reason != c.reason || f.Condition != v1alpha2.ConditionConfigGenerated {
				t.Errorf("fault %+v", f)
			}
			for _, want := range c.want {
				if !strings.Contains(f.String(), want) {
					t.Errorf("%q does not tell %q", f.String(), want)
				}
			}
		})
	}
}

// Proves: R45, R26 (settings that may prevent the start, and settings that only v1alpha1 has, get a warning).
func TestOverrideWarnings(t *testing.T) {
	line, _ := catalog.Get(catalog.Newest())
	for content, want := range map[string]string{
		complete:                                "server.insecure",
		complete + "server: {insecure: true}\n": "",
		complete + "server: {tls_certfile: /a, tls_keyfile: /b}\n": "",
		complete + "server: {tls_certfile: /a, insecure: false}\n": "server.insecure",
	} {
		in := overriding(t)
		in.Override.Content, in.Distribution.Line = []byte(content), line
		d := build(t, in)
		if got := d.Warnings.Message(); (want == "") != (len(d.Warnings) == 0) || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
	in := overriding(t)
	in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1","kept":{"spec.server.userConfig":` +
		`{"was":{"configMapName":"mine","configMapNamespace":"platform"},"if":{"configMapName":"mine"}}}}`}
	findOverride(t, in, ownConfig)
	if d := build(t, in); in.Override.Ref.String() != "platform/mine" || !strings.Contains(d.Warnings.Message(), "platform/mine in another namespace") {
		t.Errorf("reference %s, warnings %v", in.Override.Ref, d.Warnings)
	}
	in.Override.Content = []byte(secret.OnCluster)
	if d := build(t, in); !strings.Contains(d.Warnings.Message(), "platform/mine in another namespace") {
		t.Errorf("without a cluster the warnings are %v", d.Warnings)
	}
}

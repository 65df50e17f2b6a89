// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FLOW, L-01, R20, R33, EC-2 (each Secret is read once, and nothing is listed).
func TestSecrets(t *testing.T) {
	c := newCluster(t, newSecret("one", map[string]string{"k1": canary, "z": "1", "b": "2"}))
	g := newGatherer(c, c)
	got, faults := g.Gather(t.Context(), resource())
	if len(faults) > 0 {
		t.Fatal(faults.Message())
	}
	type fact struct {
		Env, Secret, Key, Value string
		State                   build.State
		Keys                    []string
	}
	var facts []fact
	for _, f := range got.Inputs.Secrets {
		facts = append(facts, fact{f.Use.EnvName, f.Use.Ref.Name, f.Use.Ref.Key, string(f.Value.Reveal()), f.State, f.ExistingKeys})
	}
	want := []fact{
		{"LLSD_A_API_KEY", "one", "k1", canary, build.Found, nil},
		{"LLSD_B_API_KEY", "one", "k2", "", build.KeyMissing, []string{"b", "k1", "z"}},
		{"LLSD_C_API_KEY", "two", "k1", "", build.Missing, nil},
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{
		"Secret/one": 1, "Secret/two": 1, "ConfigMap/llama-stack-operator-config": 1,
		// The cache:
		"Deployment/my-stack": 1, "PartialObjectMetadata/odh-trusted-ca-bundle": 1, "PartialObjectMetadata/openshift-service-ca.crt": 1,
		"PartialObjectMetadata/llama-stack-operator-config": 1, "PartialObjectMetadataList": 1,
	}, c.reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	// Proves: R7.
	if text := fmt.Sprintf("%+v %#v", got.Inputs, got.Inputs.Secrets); strings.Contains(text, canary) {
		t.Error("the inputs print the value")
	}

	if err := c.Create(t.Context(), newSecret("two", map[string]string{"k1": ""})); err != nil {
		t.Fatal(err)
	}
	got, _ = g.Gather(t.Context(), resource())
	if state := got.Inputs.Secrets[2].State; state != build.Empty {
		t.Errorf("state %d of an empty value, want Empty", state)
	}
}

// overridden returns a custom resource whose overrides refer to an object of a provider and to other objects.
func overridden(t *testing.T) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := resource()
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}
	if err := yaml.UnmarshalStrict([]byte(`
env:
- {name: A, valueFrom: {secretKeyRef: {name: one, key: k1}}}
- {name: B, valueFrom: {configMapKeyRef: {name: files, key: none}}}
- {name: C, valueFrom: {secretKeyRef: {name: "a/b", key: k, optional: true}}}
volumes:
- {name: a, configMap: {name: files}}
- {name: b, secret: {secretName: gone, optional: true}}
`), cr.Spec.Workload.Overrides); err != nil {
		t.Fatal(err)
	}
	return cr
}

// Proves: R20, L-23 (a missing platform bundle is the only exception).
func TestGatherReadsAllReferences(t *testing.T) {
	cr := overridden(t)
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{}
	if err := yaml.UnmarshalStrict([]byte(`
tls: {enabled: true, secretName: certificate, caBundle: {configMapName: authorities}}
`), cr.Spec.Networking); err != nil {
		t.Fatal(err)
	}
	for _, override := range []*v1alpha2.OverrideConfigSpec{nil, {ConfigMapName: "own"}} {
		cr.Spec.OverrideConfig = override
		c := newCluster(t)
		newGatherer(c, c).Gather(t.Context(), cr)
		want := map[string]bool{}
		for _, ref := range build.References(cr) {
			if ref.Name != "a/b" && ref.Name != build.PlatformBundle && ref.Name != build.ServiceBundle { // the first name is invalid, the others do not exist
				want[ref.Kind+"/"+ref.Name] = true
			}
		}
		got := map[string]bool{}
		for what := range c.reads {
			if kind, name, _ := strings.Cut(what, "/"); (kind == "Secret" || kind == "ConfigMap") && name != settings.ConfigMapName {
				got[what] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with override %v (-References +read):\n%s", override, diff)
		}
	}
}

// Proves: L-23, L-01, R20, R7 (objects in overrides are read live and once, and an invalid name is not looked up).
func TestPodReferences(t *testing.T) {
	c := newCluster(t, newSecret("one", map[string]string{"k1": canary, "k2": "x"}), newSecret("two", map[string]string{"k1": "x"}),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "files"}, Data: map[string]string{"z": "1"}, BinaryData: map[string][]byte{"b": {0}}})
	g := newGatherer(c, c)
	got, faults := g.Gather(t.Context(), overridden(t))
	if len(faults) > 0 {
		t.Fatal(faults.Message())
	}
	type fact struct {
		Name              string
		Missing           bool
		MissingKeys, Keys []string
		Values            []string
	}
	read := func(in *build.Inputs) []fact {
		var facts []fact
		for _, f := range in.PodReferences {
			found := fact{f.Ref.Name, f.State == build.Missing, f.MissingKeys, f.ExistingKeys, nil}
			for _, value := range f.Values {
				found.Values = append(found.Values, string(value.Reveal()))
			}
			facts = append(facts, found)
		}
		return facts
	}
	want := []fact{
		{"one", false, nil, nil, []string{canary}},
		{"files", false, []string{"none"}, []string{"b", "z"}, nil},
		{"a/b", true, nil, nil, nil},
		{"files", false, nil, nil, nil}, // hashed, not kept
		{"gone", true, nil, nil, nil},
	}
	if diff := cmp.Diff(want, read(got.Inputs)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if c.reads["Secret/one"] != 1 || c.reads["ConfigMap/files"] != 1 || c.reads["Secret/gone"] != 1 || c.reads["Secret/a/b"] != 0 {
		t.Errorf("reads %v", c.reads)
	}
	if text := fmt.Sprintf("%+v %#v", got.Inputs, got.Inputs.PodReferences); strings.Contains(text, canary) {
		t.Error("the inputs print the value")
	}

	for what, condition := range map[string]string{"Secret/gone": v1alpha2.ConditionSecretsResolved, "ConfigMap/files": v1alpha2.ConditionConfigGenerated} {
		c.fails = map[string]error{what: errTimeout}
		if _, faults := g.Gather(t.Context(), overridden(t)); len(faults) != 1 || faults[0].Class != problem.Transient || faults[0].Condition != condition {
			t.Errorf("%s times out: %+v", what, faults)
		}
	}
}

// Proves: L-23, R48 (all data that pods get from an object counts, and nothing else).
func TestHashCoversDataOfPods(t *testing.T) {
	hash := func(change func(s *corev1.Secret, cm *corev1.ConfigMap)) string {
		s := newSecret("one", map[string]string{"k1": canary, "k2": "x", "other": "x"})
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "files"}, Data: map[string]string{"z": "1"}, BinaryData: map[string][]byte{"b": {0}}}
		change(s, cm)
		cr := overridden(t)
		cr.Spec.Workload.Overrides.Env[1].ValueFrom.ConfigMapKeyRef.Optional = new(true)
		cr.Spec.Workload.Overrides.Env = cr.Spec.Workload.Overrides.Env[:2] // the third one has an invalid name
		c := newCluster(t, s, newSecret("two", map[string]string{"k1": "x"}), cm)
		got, _ := newGatherer(c, c).Gather(t.Context(), cr)
		made, problems := build.Build(t.Context(), got.Inputs)
		if problems.HasErrors() {
			t.Fatal(problems.Message())
		}
		return made.SecretsHash
	}
	before := hash(func(*corev1.Secret, *corev1.ConfigMap) {})
	for name, c := range map[string]struct {
		change  func(*corev1.Secret, *corev1.ConfigMap)
		changes bool
	}{
		"nothing":       {func(*corev1.Secret, *corev1.ConfigMap) {}, false},
		"another key":   {func(s *corev1.Secret, _ *corev1.ConfigMap) { s.Data["other"] = []byte("y") }, false},
		"a label":       {func(_ *corev1.Secret, cm *corev1.ConfigMap) { cm.Labels = map[string]string{"a": "b"} }, false},
		"a value":       {func(s *corev1.Secret, _ *corev1.ConfigMap) { s.Data["k1"] = []byte("y") }, true},
		"a text":        {func(_ *corev1.Secret, cm *corev1.ConfigMap) { cm.Data["z"] = "2" }, true},
		"binary data":   {func(_ *corev1.Secret, cm *corev1.ConfigMap) { cm.BinaryData["b"] = []byte{1} }, true},
		"one more text": {func(_ *corev1.Secret, cm *corev1.ConfigMap) { cm.Data["y"] = "" }, true},
		"text for a text": {func(_ *corev1.Secret, cm *corev1.ConfigMap) {
			cm.Data, cm.BinaryData = nil, map[string][]byte{"z": {'1'}, "b": {0}}
		}, false},
	} {
		if got := hash(c.change) != before; got != c.changes {
			t.Errorf("%s: another hash: %t, want %t", name, got, c.changes)
		}
	}
}

func TestInputs(t *testing.T) {
	c := newCluster(t)
	cr := resource()
	got, faults := newGatherer(c, c).Gather(t.Context(), cr)
	if len(faults) > 0 {
		t.Fatal(faults.Message())
	}
	in := got.Inputs
	if in.CR != cr || in.Build != "1.0.0" || !in.ClusterAssignsUserIDs || len(in.HashKey.Reveal()) != 32 || in.Live != nil || got.DeploymentUnknown {
		t.Errorf("inputs %+v", in)
	}
	if in.Distribution.Name != "starter" || got.Settings == nil {
		t.Errorf("distribution %+v: want the built-in one, there is no ConfigMap", in.Distribution)
	}
}

// Proves: R8, L-30, R20 (a failed lookup is neither a terminal error nor a missing object, and is retried).
func TestLookupFailed(t *testing.T) {
	for what, condition := range map[string]string{
		"Secret/one":                            v1alpha2.ConditionSecretsResolved,
		"ConfigMap/llama-stack-operator-config": v1alpha2.ConditionConfigGenerated,
		"Deployment/my-stack":                   v1alpha2.ConditionDeploymentUpdated,
	} {
		t.Run(what, func(t *testing.T) {
			c := newCluster(t, newSecret("one", nil))
			c.fails[what] = errTimeout
			got, faults := newGatherer(c, c).Gather(t.Context(), resource())
			if len(faults) != 1 {
				t.Fatalf("faults %v, want one", faults)
			}
			f := faults[0]
			if f.Class != problem.Transient || f.Condition != condition || f.Reason != problem.LookupFailed || !errors.Is(f.Err, errTimeout) {
				t.Errorf("fault %+v, want LookupFailed for %s", f, condition)
			}
			if _, name, _ := strings.Cut(what, "/"); !strings.Contains(f.String(), name) {
				t.Errorf("message %q does not name %s", f.String(), name)
			}
			if got.DeploymentUnknown != strings.HasPrefix(what, "Deployment") {
				t.Errorf("DeploymentUnknown = %v", got.DeploymentUnknown)
			}
			if (got.Settings == nil) != strings.HasPrefix(what, "ConfigMap") {
				t.Errorf("Settings = %v", got.Settings)
			}

			delete(c.fails, what)
			if _, faults := newGatherer(c, c).Gather(t.Context(), resource()); len(faults) > 0 {
				t.Errorf("asked again: %s", faults.Message())
			}
		})
	}
}

// Proves: NFR-004.
func TestGatherReportsEveryFailure(t *testing.T) {
	c := newCluster(t)
	c.fails["Secret/one"], c.fails["Deployment/my-stack"], c.fails["ConfigMap/llama-stack-operator-config"] = errTimeout, errTimeout, errTimeout
	if _, faults := newGatherer(c, c).Gather(t.Context(), resource()); len(faults) != 3 {
		t.Errorf("faults %v, want three", faults)
	}
}

// References with invalid syntax are not looked up; the engine reports them.
func TestInvalidReferencesAreNotRead(t *testing.T) {
	for _, providers := range []string{
		`{"provider":"vllm","apiKey":{"name":"one"}}`, `{"provider":"vllm","apiKey":"plain"}`, `"text"`, `[]`, `{"provider":"vllm","apiKey":{}}`,
	} {
		c := newCluster(t)
		cr := resource()
		cr.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(providers)}
		got, faults := newGatherer(c, c).Gather(t.Context(), cr)
		if len(faults) > 0 || len(got.Inputs.Secrets) > 0 {
			t.Errorf("%s: faults %v, facts %v", providers, faults, got.Inputs.Secrets)
		}
		for what := range c.reads {
			if strings.HasPrefix(what, "Secret/") {
				t.Errorf("%s: read %s", providers, what)
			}
		}
	}
}

// Proves: FR-073, FR-075 (an invalid Secret name is a terminal error, because a lookup of it always fails).
func TestImpossibleSecretName(t *testing.T) {
	for _, name := range []string{"a/b", "..", "a%2fb", "with space", "UPPER"} {
		c := newCluster(t)
		cr := resource()
		cr.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm","endpoint":"http://a:1","apiKey":{"name":"` + name + `","key":"k"}}`)}
		got, faults := newGatherer(c, c).Gather(t.Context(), cr)
		if c.reads["Secret/"+name] > 0 {
			t.Errorf("%q: asked for at the API server, whose client refuses it before any request", name)
		}
		if faults.Has(problem.Transient) || len(got.Inputs.Secrets) > 0 {
			t.Errorf("%q: faults %v, facts %v", name, faults, got.Inputs.Secrets)
		}
	}
}

// Proves: R47, L-35 (settings may lack a ConfigMap, and invalid settings are a terminal error, not a failed lookup).
func TestSettings(t *testing.T) {
	c := newCluster(t, operatorSettings(map[string]string{"distributions": "starter: {image: 'registry.example/starter:0.7.1'}"}))
	g := newGatherer(c, c)
	g.Store = gather.NewSettingsStoreOf(c, operatorNamespace)
	image := func() string {
		got, faults := g.Gather(t.Context(), resource())
		if len(faults) > 0 {
			t.Fatal(faults.Message())
		}
		return got.Inputs.Distribution.Image
	}
	if got := image(); got != "registry.example/starter:0.7.1" {
		t.Errorf("image %s", got)
	}
	first, _ := g.Gather(t.Context(), resource())
	second, _ := g.Gather(t.Context(), resource())
	if first.Settings != second.Settings {
		t.Error("the same ConfigMap is parsed again")
	}

	key := settings.KeyDistributions
	set := func(text string) {
		t.Helper()
		var cm corev1.ConfigMap
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: "llama-stack-operator-config"}, &cm); err != nil {
			t.Fatal(err)
		}
		cm.Data = map[string]string{key: text}
		if err := c.Update(t.Context(), &cm); err != nil {
			t.Fatal(err)
		}
	}
	set("starter: {image: 'registry.example/starter:0.7.2'}")
	if got := image(); got != "registry.example/starter:0.7.2" {
		t.Errorf("image %s after a change of the settings", got)
	}

	key = settings.KeyForbid
	set("{forbid: x}")
	for range 2 { // errors are cached as well
		got, faults := g.Gather(t.Context(), resource())
		if len(faults) != 1 || faults[0].Class != problem.Terminal || faults[0].Reason != problem.InvalidOperatorSettings ||
			!strings.Contains(faults.Message(), "key forbid") || got.Settings != nil || got.Inputs.Distribution != nil {
			t.Errorf("faults %v, settings %v", faults, got.Settings)
		}
	}

	if err := c.Delete(t.Context(), operatorSettings(nil)); err != nil {
		t.Fatal(err)
	}
	if got := image(); got == "registry.example/starter:0.7.2" {
		t.Error("the settings outlive their ConfigMap")
	}
}

func TestForbiddenReachesValidationAndReconcile(t *testing.T) {
	c := newCluster(t, operatorSettings(map[string]string{settings.KeyForbid: "[commandAndArgs]"}))
	g := newGatherer(c, c)
	want := []settings.Restriction{settings.ForbidCommandAndArgs}
	reconciled, _ := g.Gather(t.Context(), resource())
	admitted, _ := g.GatherForAdmission(t.Context(), resource())
	if diff := cmp.Diff(want, reconciled.Inputs.Forbidden); diff != "" {
		t.Errorf("for a reconcile (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, admitted.Forbidden); diff != "" {
		t.Errorf("for admission (-want +got):\n%s", diff)
	}
}

// Proves: R48, R89 (the image stays before and after the adoption; a name without such a Deployment is an error).
func TestUnknownNameKeepsRunningImage(t *testing.T) {
	const image, other = "registry.example/platform/core:v9.25", "registry.example/platform/core:0.6.1"
	deployment := func(annotations map[string]string, runs string) *appsv1.Deployment {
		cr := resource()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", Annotations: annotations}}
		d.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cr, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "llama-stack", Image: runs}}
		return d
	}
	for name, c := range map[string]struct {
		live        *appsv1.Deployment
		image, line string
	}{
		"release 0.9's":        {deployment(nil, image), image, ""},
		"of a known release":   {deployment(nil, other), other, "0.6"},
		"adopted":              {deployment(map[string]string{names.AnnotationBuild: "0.9", names.AnnotationAdoptedImage: image}, image), image, ""},
		"adopted, and edited":  {deployment(map[string]string{names.AnnotationBuild: "1", names.AnnotationAdoptedImage: image}, image), image, ""},
		"of another operator":  {deployment(map[string]string{names.AnnotationBuild: "1"}, image), "", ""},
		"without a Deployment": {nil, "", ""},
	} {
		cr := resource()
		cr.Spec.Distribution.Name, cr.Spec.Providers = new("rh-dev"), nil
		made := []client.Object{}
		if c.live != nil {
			made = append(made, c.live)
		}
		// The cache lacks objects without the operator's label.
		got, faults := newGatherer(newCluster(t, made...), newCluster(t)).Gather(t.Context(), cr)
		d := got.Inputs.Distribution
		if c.image == "" {
			if d != nil || !got.Inputs.Unresolved || len(faults) != 1 || faults[0].Reason != problem.UnknownDistribution {
				t.Errorf("%s: %+v, faults %s", name, d, faults.Message())
			}
			continue
		}
		if d == nil || got.Inputs.Unresolved || len(faults) > 0 || !d.Adopted || d.Name != "rh-dev" || d.Image != c.image ||
			d.ImageSource != settings.SourceRelease09 || d.Base != nil {
			t.Errorf("%s: %+v, faults %s", name, d, faults.Message())
			continue
		}
		if line := d.Line; c.line == "" && line != nil || c.line != "" && (line == nil || line.Name != c.line) {
			t.Errorf("%s: release line %+v, want %q", name, line, c.line)
		}
	}
}

// Proves: R91 (the message names the newest release line; a custom resource without its own Deployment is new).
func TestServerThatRunsKeepsItsReleaseLine(t *testing.T) {
	deployment := func(owner types.UID, annotations map[string]string, image string) *appsv1.Deployment {
		cr := resource()
		cr.UID = owner
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", Annotations: annotations}}
		d.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cr, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "llama-stack", Image: image}}
		return d
	}
	made := map[string]string{names.AnnotationBuild: "0.0.1", names.AnnotationServerLine: "1.3"}
	for name, c := range map[string]struct {
		live *appsv1.Deployment
		want string
	}{
		"made by a former operator":   {deployment("u1", made, "docker.io/ogxai/distribution-starter:1.3.1"), "1.3"},
		"left by release 0.9":         {deployment("u1", nil, "docker.io/llamastack/distribution-starter:0.6.1"), "0.6"},
		"of a former custom resource": {deployment("u0", made, "docker.io/ogxai/distribution-starter:1.3.1"), catalog.Newest()},
		"gone":                        {nil, catalog.Newest()},
	} {
		existing := []client.Object{}
		if c.live != nil {
			existing = append(existing, c.live)
		}
		cluster := newCluster(t, existing...)
		got, _ := newGatherer(cluster, cluster).Gather(t.Context(), resource())
		d := got.Inputs.Distribution
		if d == nil || d.Line == nil || d.Line.Name != c.want {
			t.Errorf("%s: %+v, want release line %s", name, d, c.want)
			continue
		}
		if newer := c.want != catalog.Newest(); strings.Contains(d.Note, "upgrade-check") != newer || newer && !strings.Contains(d.Note, catalog.Newest()) {
			t.Errorf("%s: note %q", name, d.Note)
		}
	}
}

// Proves: L-08 (a Deployment of another owner does not count).
func TestLiveDeployment(t *testing.T) {
	cr := resource()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
	owned := deployment.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cr, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))}
	earlier := owned.DeepCopy()
	earlier.OwnerReferences[0].UID = "u0"
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		found      bool
	}{
		"own": {owned, true}, "unowned": {deployment, false}, "of an earlier resource of this name": {earlier, false},
	} {
		server := newCluster(t, c.deployment)
		got, faults := newGatherer(newCluster(t), server).Gather(t.Context(), cr)
		if len(faults) > 0 || (got.Inputs.Live != nil) != c.found || got.DeploymentUnknown {
			t.Errorf("%s: live %v, faults %v", name, got.Inputs.Live, faults)
		}
	}
}

// Proves: FR-074, R20, R53, L-01 (the state of caBundle, also with a namespace and keys from the conversion).
func TestCABundle(t *testing.T) {
	c := newCluster(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "trusted-ca"}, Data: map[string]string{"ca.crt": "x"}})
	g := newGatherer(c, c)
	cr := resource()
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "trusted-ca"}}}
	gathered := func() *build.CABundleFact {
		t.Helper()
		got, faults := g.Gather(t.Context(), cr)
		if len(faults) > 0 {
			t.Fatal(faults.Message())
		}
		return got.Inputs.CABundle
	}
	want := &build.CABundleFact{Namespace: "ai", Name: "trusted-ca", Data: map[string]string{"ca.crt": "x"}}
	if diff := cmp.Diff(want, gathered()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cr.Spec.Networking.TLS.CABundle.ConfigMapName = "gone"
	if got := gathered(); got.State != build.Missing {
		t.Errorf("%+v, want it to be missing", got)
	}
	c.fails["ConfigMap/gone"] = errTimeout
	if _, faults := g.Gather(t.Context(), cr); !faults.Has(problem.Transient) || !strings.Contains(faults.Message(), "ConfigMap ai/gone") {
		t.Errorf("faults %s", faults.Message())
	}
}

// Proves: R40, L-01 (the platform's bundle is read if it is in the cache and the spec names none).
func TestPlatformCABundle(t *testing.T) {
	bundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "odh-trusted-ca-bundle"}, Data: map[string]string{"ca-bundle.crt": framework.NewCACertificate(t)},
	}
	c := newCluster(t, bundle, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "mine"}, Data: map[string]string{"ca.crt": "x"}})
	g := newGatherer(c, c)
	cr := resource()
	gathered := func() (*build.CABundleFact, problem.List) {
		t.Helper()
		got, faults := g.Gather(t.Context(), cr)
		return got.Inputs.CABundle, faults
	}
	if got, faults := gathered(); got == nil || got.Name != bundle.Name || got.Data["ca-bundle.crt"] == "" || len(faults) > 0 {
		t.Errorf("found %+v, faults %s", got, faults.Message())
	}
	c.fails["ConfigMap/"+bundle.Name] = errTimeout
	if got, faults := gathered(); got != nil || !faults.Has(problem.Transient) || !strings.Contains(faults.Message(), "ConfigMap ai/odh-trusted-ca-bundle") {
		t.Errorf("found %+v, faults %s: the trusted certificates must not change because a request failed", got, faults.Message())
	}
	delete(c.fails, "ConfigMap/"+bundle.Name)
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "mine"}}}
	c.reads = map[string]int{}
	if got, _ := gathered(); got == nil || got.Name != "mine" || c.reads["PartialObjectMetadata/"+bundle.Name]+c.reads["ConfigMap/"+bundle.Name] > 0 {
		t.Errorf("found %+v with reads %v: the spec names another one", got, c.reads)
	}
	cr.Spec.Networking = nil
	bundle.Data = map[string]string{"ca-bundle.crt": ""}
	if err := c.Update(t.Context(), bundle); err != nil {
		t.Fatal(err)
	}
	if got, faults := gathered(); got != nil || len(faults) > 0 {
		t.Errorf("an empty bundle is %+v, faults %s", got, faults.Message())
	}
}

// Proves: R97, L-01 (the Service CA is read if it exists, with any bundle of the spec).
func TestServiceCA(t *testing.T) {
	ca := framework.NewCACertificate(t)
	bundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "openshift-service-ca.crt"}, Data: map[string]string{"service-ca.crt": "# a comment\n" + ca},
	}
	c := newCluster(t, bundle, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "mine"}, Data: map[string]string{"ca.crt": ca}})
	g := newGatherer(c, c)
	named := resource()
	named.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "mine"}}}
	for _, cr := range []*v1alpha2.LlamaStackDistribution{resource(), named} {
		if got, faults := g.Gather(t.Context(), cr); got.Inputs.ServiceCA != ca || len(faults) > 0 {
			t.Errorf("found %q, faults %s", got.Inputs.ServiceCA, faults.Message())
		}
	}
	c.fails["ConfigMap/"+bundle.Name] = errTimeout
	if got, faults := g.Gather(t.Context(), named); got.Inputs.ServiceCA != "" || !faults.Has(problem.Transient) {
		t.Errorf("found %q, faults %s: the trusted certificates must not change because a request failed", got.Inputs.ServiceCA, faults.Message())
	}
}

// Proves: R65 (a setting of the operator allows it without consent, as in release 0.9).
func TestCABundleOfAnotherNamespaceNeedsConsent(t *testing.T) {
	shared := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "pki", Name: "trusted-ca"}, Data: map[string]string{"ca.crt": "x"}}
	cr := resource()
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{TLS: &v1alpha2.TLSSpec{CABundle: &v1alpha2.CABundleConfig{ConfigMapName: "trusted-ca"}}}
	cr.Annotations = map[string]string{v1alpha2.ConversionAnnotation: `{"version":1,"origin":"v1alpha1","kept":{"spec.server.tlsConfig.caBundle":` +
		`{"was":{"configMapName":"trusted-ca","configMapNamespace":"pki"},"if":{"configMapName":"trusted-ca"}}}}`}
	for name, c := range map[string]struct {
		consent string
		as09    bool
		want    build.CABundleFact
	}{
		"without": {"", false, build.CABundleFact{Namespace: "pki", Name: "trusted-ca", Lookup: build.Lookup{State: build.NotAllowed}}},
		"with":    {"ai", false, build.CABundleFact{Namespace: "pki", Name: "trusted-ca", Data: shared.Data}},
		"as 0.9":  {"", true, build.CABundleFact{Namespace: "pki", Name: "trusted-ca", Data: shared.Data}},
	} {
		cm := shared.DeepCopy()
		cm.Annotations = map[string]string{v1alpha2.AllowFromAnnotation: c.consent}
		cluster := newCluster(t, cm)
		g := newGatherer(cluster, cluster)
		g.AllowForeignConfigMaps = c.as09
		got, faults := g.Gather(t.Context(), cr)
		if len(faults) > 0 {
			t.Fatal(faults.Message())
		}
		if diff := cmp.Diff(&c.want, got.Inputs.CABundle); diff != "" {
			t.Errorf("%s consent (-want +got):\n%s", name, diff)
		}
	}
}

// Proves: R90, R91 (the line is on the Deployment or in its image; a new custom resource gets the newest).
func TestRunningServerKeepsItsReleaseLine(t *testing.T) {
	cr := resource()
	live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}
	live.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cr, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))}
	live.Spec.Template.Spec.Containers = []corev1.Container{{Name: names.ContainerName, Image: "docker.io/llamastack/distribution-starter:0.7.0"}}
	recorded := live.DeepCopy()
	recorded.Annotations = map[string]string{names.AnnotationBuild: "1", names.AnnotationServerLine: "1.2"}
	unrecorded := live.DeepCopy()
	unrecorded.Annotations = map[string]string{names.AnnotationBuild: "1"}
	moved := cr.DeepCopy()
	moved.Spec.Distribution.Version = new("1.4")
	for name, c := range map[string]struct {
		cr   *v1alpha2.LlamaStackDistribution
		live *appsv1.Deployment
		want string
	}{
		"a new one":                {cr, nil, catalog.Newest()},
		"recorded":                 {cr, recorded, "1.2"},
		"by its image":             {cr, unrecorded, "0.7"},
		"moved by the version":     {moved, recorded, "1.4"},
		"new, with a version":      {moved, nil, "1.4"},
		"left by release 0.9":      {cr, live, "0.7"},
		"of an earlier Deployment": {cr, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack"}}, catalog.Newest()},
	} {
		server := newCluster(t)
		if c.live != nil {
			server = newCluster(t, c.live)
		}
		got, faults := newGatherer(newCluster(t), server).Gather(t.Context(), c.cr)
		if d := got.Inputs.Distribution; len(faults) > 0 || d == nil || d.Line.Name != c.want {
			t.Errorf("%s: %+v, %s; want release line %s", name, d, faults.Message(), c.want)
		}
	}
}

// Proves: R90, R64 (admission reads no Deployment and uses the release line in the status).
func TestAdmissionUsesRunningReleaseLine(t *testing.T) {
	cr := resource()
	for line, want := range map[string]string{"": catalog.Newest(), "1.2": "1.2"} {
		cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{ServerLine: line}
		in, faults := newGatherer(newCluster(t), newCluster(t)).GatherForAdmission(t.Context(), cr)
		if len(faults) > 0 || in.Distribution.Line.Name != want {
			t.Errorf("%q: %+v, %s", line, in.Distribution, faults.Message())
		}
	}
}

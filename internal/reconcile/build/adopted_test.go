// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R48 (the image of release 0.9 is kept until the resource names one).
func TestAdoptedImage(t *testing.T) {
	const old = "registry.example/starter:0.6.1"
	for name, c := range map[string]struct {
		annotations map[string]string
		image       string // image in the resource's spec
		want        string
	}{
		"release 0.9":            {nil, "", old},
		"kept before":            {map[string]string{names.AnnotationBuild: "1", names.AnnotationAdoptedImage: "registry.example/starter:0.5.4"}, "", "registry.example/starter:0.5.4"},
		"this operator's":        {map[string]string{names.AnnotationBuild: "1"}, "", ""},
		"the resource names one": {nil, "registry.example/other:0.7.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "simple")
			in.CR.Spec.Distribution.Name, in.CR.Spec.Distribution.Image = new("starter"), nil
			if c.image != "" {
				in.CR.Spec.Distribution.Name, in.CR.Spec.Distribution.Image = nil, &c.image
			}
			resolve(t, in, nil)
			in.Live = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}
			in.Live.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "x"}, {Name: "llama-stack", Image: old}}
			image := ""
			if d := adopted(in); d != nil {
				image = d.Image
			}
			if image != c.want {
				t.Errorf("adopted is %q, want %q", image, c.want)
			}
		})
	}
}

// Proves: R48, R19 (workload edits apply with a warning, other edits wait, and both messages name the two fixes).
func TestUnknownNameKeepsItsImage(t *testing.T) {
	const image = "registry.example/platform/core:v2.25"
	in := inputs(t, "distribution-only")
	in.CR.Spec.Distribution.Name = new("rh-dev")
	in.Distribution = &settings.Distribution{Name: "rh-dev", Image: image, ImageSource: settings.SourceRelease09, Adopted: true}
	in.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Replicas: new(int32(2))}
	ways := []string{"registered-distribution.yaml", "spec.distribution.version", "spec.distribution.name"}
	d := build(t, in)
	made := deployment(t, d.Objects)
	if got := made.Spec.Template.Spec.Containers[0].Image; got != image || made.Annotations[names.AnnotationAdoptedImage] != image || *made.Spec.Replicas != 2 {
		t.Errorf("image %s, annotations %v, replicas %d", got, made.Annotations, *made.Spec.Replicas)
	}
	if len(d.Warnings) != 1 || d.Warnings[0].Reason != problem.UnknownDistribution || !strings.Contains(d.Warnings.Message(), image) {
		t.Errorf("warnings %s", d.Warnings.Message())
	}
	in = inputs(t, "simple")
	in.CR.Spec.Distribution.Name = new("rh-dev")
	in.Distribution = &settings.Distribution{Name: "rh-dev", Image: image, ImageSource: settings.SourceRelease09, Adopted: true}
	_, faults := fail(t, in)
	if len(faults) != 1 || faults[0].Reason != problem.UnknownDistribution || !strings.Contains(faults.Message(), "the running server is not changed") {
		t.Errorf("faults %s", faults.Message())
	}
	for _, way := range ways {
		if !strings.Contains(faults.Message(), way) || !strings.Contains(d.Warnings.Message(), way) {
			t.Errorf("%q is not in %q, or not in %q", way, faults.Message(), d.Warnings.Message())
		}
	}
}

// Proves: R93 (the warning appears before a pod on another node fails to pull; a mirror avoids it).
func TestImageOfARemovedOrganizationIsAWarning(t *testing.T) {
	const image = "llamastack/distribution-starter:0.7.1"
	in := inputs(t, "distribution-only")
	in.CR.Spec.Distribution = v1alpha2.DistributionSpec{Image: new(image)}
	resolve(t, in, nil)
	d := build(t, in)
	for _, want := range []string{
		"image " + image + " cannot be pulled", "only nodes that have the image can start pods", "spec.distribution.version",
		"spec.distribution.image", "mirror",
	} {
		if !strings.Contains(d.Warnings.Message(), want) {
			t.Errorf("%q is not in %q", want, d.Warnings.Message())
		}
	}
	resolve(t, in, map[string]string{settings.KeyRegistries: "mirrors: [{prefix: docker.io/llamastack, location: mirror.example/llama}]"})
	if d := build(t, in); len(d.Warnings) > 0 {
		t.Errorf("with a mirror: %s", d.Warnings.Message())
	}
}

// Proves: R48, R90, R91, R93 (an image that may not be published gets a warning until the Deployment has it).
func TestImageOfAServerOfRelease09AfterAnEdit(t *testing.T) {
	const (
		old      = "docker.io/llamastack/distribution-starter:0.7.1"
		removed  = "image " + old + " cannot be pulled"
		unproven = "may not be published (not proven: "
	)
	newest, _ := distributions.Get("starter")
	for name, c := range map[string]struct {
		edit        string
		image, says string
	}{
		"the workload":           {"distribution: {name: starter}\nworkload: {terminationGracePeriodSeconds: 60}", old, removed},
		"providers":              {"distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}", old, removed},
		"a provider without 1.5": {"distribution: {name: starter}\nproviders: {safety: {provider: llama-guard}}", old, removed},
		"the name":               {"distribution: {name: remote-vllm}", "docker.io/ogxai/distribution-starter:0.7.1", unproven},
		"the version that runs":  {"distribution: {name: starter, version: '0.7'}", "docker.io/ogxai/distribution-starter:0.7.1", unproven},
		"a published version":    {"distribution: {name: starter, version: '" + catalog.Newest() + "'}", newest.Image(newest.Newest().Version), ""},
		"its image":              {"distribution: {image: '" + old + "'}", old, removed},
		"another image":          {"distribution: {image: 'mirror.example/distribution-starter:0.7.1'}", "mirror.example/distribution-starter:0.7.1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t, "distribution-only")
			in.Live = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				names.AnnotationBuild: release09.Build, names.AnnotationAdoptedImage: old, names.AnnotationAdoptedName: "starter",
				names.AnnotationServerLine: "0.7", names.AnnotationInputHash: "of the adoption",
			}}}
			in.Live.Spec.Template.Spec.Containers = []corev1.Container{{Name: names.ContainerName, Image: old}}
			in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{}
			framework.NoError(t, yaml.UnmarshalStrict([]byte(c.edit), &in.CR.Spec))
			refreshPods(in)
			for _, says := range []string{c.says, strings.TrimPrefix(c.says, unproven)} { // the second time, the Deployment has the image
				resolve(t, in, nil)
				in.Distribution.UnverifiedSource = settings.UnverifiedSource(in.Distribution.Image)
				d := build(t, in)
				in.Live = deployment(t, d.Objects)
				if got := in.Live.Spec.Template.Spec.Containers[0].Image; got != c.image || in.Live.Annotations[names.AnnotationServerLine] != d.Distribution.Line.Name {
					t.Errorf("image %s, annotations %v", got, in.Live.Annotations)
				}
				text := d.Warnings.Message()
				if !strings.Contains(text, says) || (says == "") != (text == "") || says != "" && !strings.HasSuffix(text, settings.ImageAdvice) {
					t.Errorf("warnings %q, want %q", text, says)
				}
			}
		})
	}
}

// Proves: R48, R91 (only an image of the same release line from the settings, or a mirror, replaces it).
func TestAdoptedImageIsKeptUntilTheDistributionChanges(t *testing.T) {
	const old = "docker.io/llamastack/distribution-starter:0.6.1"
	override := func(image string) func(*testing.T, *Inputs) {
		return func(t *testing.T, in *Inputs) {
			resolve(t, in, map[string]string{"image-overrides": "starter: " + image})
		}
	}
	for name, c := range map[string]struct {
		change func(*testing.T, *Inputs)
		want   string // empty: the operator's choice
	}{
		"nothing changes": {func(*testing.T, *Inputs) {}, old},
		"an edit":         {func(_ *testing.T, in *Inputs) { in.CR.Spec.Disabled = []string{"eval"} }, old},
		"another name": {func(t *testing.T, in *Inputs) {
			in.CR.Spec.Distribution.Name = new("postgres-demo")
			resolve(t, in, nil)
		}, ""},
		"an image of its line":     {override("mirror.example/distribution-starter:0.6.2"), ""},
		"an image of another line": {override("mirror.example/distribution-starter:0.7.1"), old},
		"a mirror": {func(_ *testing.T, in *Inputs) {
			in.Mirrors = settings.Mirrors{{Prefix: "docker.io/llamastack", Location: "mirror.example/llama"}}
		}, "mirror.example/llama/distribution-starter:0.6.1"},
	} {
		in := inputs(t, "distribution-only")
		in.Live = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			names.AnnotationBuild: in.Build, names.AnnotationAdoptedImage: old, names.AnnotationAdoptedName: "starter",
		}}}
		in.Live.Annotations[names.AnnotationInputHash] = hashOf(in)
		c.change(t, in)
		want, noted := c.want, c.want
		if want == "" {
			want = in.Distribution.Image
		}
		for range 2 { // the second time uses the result of the first
			d := deployment(t, build(t, in).Objects)
			if got := d.Spec.Template.Spec.Containers[0].Image; got != want || d.Annotations[names.AnnotationAdoptedImage] != noted {
				t.Errorf("%s: image %s, annotations %v; want %s, adopted %q", name, got, d.Annotations, want, noted)
			}
			in.Live = d
		}
	}
}

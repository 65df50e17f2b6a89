// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// Proves: R48 (the image of release 0.9 is known until the resource names one).
func TestAdoptedImage(t *testing.T) {
	const old = "registry.example/starter:0.6.1"
	for name, c := range map[string]struct {
		annotations map[string]string
		image       string // that the resource names
		want        string
	}{
		"release 0.9":            {nil, "", old},
		"kept before":            {map[string]string{objects.AnnotationBuild: "1", objects.AnnotationAdoptedImage: "registry.example/starter:0.5.4"}, "", "registry.example/starter:0.5.4"},
		"this operator's":        {map[string]string{objects.AnnotationBuild: "1"}, "", ""},
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

// Proves: R48 (the image that release 0.9 left runs until the first edit, and the Deployment reports it).
func TestAdoptedImageStaysUntilTheFirstEdit(t *testing.T) {
	const old = "registry.example/starter:0.6.1"
	in := inputs(t, "distribution-only")
	chosen := in.Distribution.Image
	in.Live = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		objects.AnnotationBuild: in.Build, objects.AnnotationAdoptedImage: old, objects.AnnotationInputHash: hashOf(in),
	}}}
	for _, step := range []struct {
		edit         func()
		image, noted string
	}{
		{func() {}, old, old},
		{func() { in.CR.Spec.Disabled = []string{"eval"} }, chosen, ""},
	} {
		step.edit()
		d := deployment(t, build(t, in).Objects)
		image, noted := d.Spec.Template.Spec.Containers[0].Image, d.Annotations[objects.AnnotationAdoptedImage]
		if image != step.image || noted != step.noted {
			t.Errorf("image %s, noted as adopted %q; want %s and %q", image, noted, step.image, step.noted)
		}
	}
}

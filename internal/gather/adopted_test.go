// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// Proves: R48 (the image of release 0.9 is known until the resource names one, also where the cache does not hold its Deployment).
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
			cr := resource()
			if c.image != "" {
				cr.Spec.Distribution.Name, cr.Spec.Distribution.Image = nil, &c.image
			}
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ai", Name: "my-stack", Annotations: c.annotations,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "llamastack.io/v1alpha1", Kind: "LlamaStackDistribution", Name: "my-stack", UID: "u1", Controller: new(true)}},
			}}
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "x"}, {Name: "llama-stack", Image: old}}
			live := newCluster(t, d)
			got, faults := newGatherer(live, newCluster(t)).Gather(t.Context(), cr)
			if len(faults) > 0 || got.Inputs.Live == nil {
				t.Fatalf("faults %v, Deployment %v", faults, got.Inputs.Live)
			}
			image := ""
			if got.Inputs.Adopted != nil {
				image = got.Inputs.Adopted.Image
			}
			if image != c.want {
				t.Errorf("adopted is %q, want %q", image, c.want)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Proves: R90, R91.
func TestRunningRelease(t *testing.T) {
	for name, c := range map[string]struct {
		annotations map[string]string
		image       string
		container   string
		want        string
	}{
		"recorded":                         {map[string]string{names.AnnotationBuild: "1", names.AnnotationServerLine: "0.7"}, "x/y:1.3.0", "", "0.7"},
		"the tag":                          {map[string]string{names.AnnotationBuild: "1"}, "localhost:5000/y:1.4.1@sha256:0", "", "1.4.1"},
		"a tag of no release":              {map[string]string{names.AnnotationBuild: "1"}, "x/y:latest", "", "latest"},
		"no tag":                           {map[string]string{names.AnnotationBuild: "1"}, "x/y", "", ""},
		"release 0.9":                      {nil, "x/y:0.6.1", "main", "0.6.1"},
		"release 0.9, a tag of no release": {nil, "x/y:latest", "", "0.7.1"},
	} {
		t.Run(name, func(t *testing.T) {
			live := &appsv1.Deployment{}
			live.Annotations = c.annotations
			own := corev1.Container{Name: names.ContainerName, Image: c.image}
			if c.container != "" {
				own.Name = c.container
			}
			live.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "x:0.3.5"}, own}
			if got := RunningRelease(live, c.container); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := RunningRelease(nil, ""); got != "" {
		t.Errorf("without a Deployment: %q", got)
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if got := ReportedLine(cr); got != "" {
		t.Errorf("without a status: %q", got)
	}
	cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{ServerLine: "1.4"}
	if got := ReportedLine(cr); got != "1.4" {
		t.Errorf("with a status: %q", got)
	}
}

// Proves: R91.
func TestDeploymentRecordsTheReleaseLine(t *testing.T) {
	in := inputs(t, "simple")
	if got := deployment(t, build(t, in).Objects).Annotations[names.AnnotationServerLine]; got != lineOfTests {
		t.Errorf("recorded %q", got)
	}
	in.Distribution.Line = nil
	in.CR.Spec.Providers, in.CR.Spec.Resources = nil, nil
	refreshPods(in)
	if got, there := deployment(t, build(t, in).Objects).Annotations[names.AnnotationServerLine]; there {
		t.Errorf("recorded %q of an unknown server", got)
	}
}

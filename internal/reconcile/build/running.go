// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Hints are what decides on the release of a built-in name beside spec.distribution: what the spec needs, and the
// release or release line that runs.
func Hints(in *Inputs, running string) settings.Hints {
	return settings.Hints{Needs: serverconfig.Needs(in.Spec), Running: running}
}

// RunningRelease returns the release line of the server that a Deployment runs, as the operator recorded it, else what
// the tag of its image has, which need not be a release. It is empty without a Deployment.
func RunningRelease(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	if line := live.Annotations[objects.AnnotationServerLine]; line != "" {
		return line
	}
	image := liveImage(live, container)
	tag := settings.ImageTag(image)
	if _, standing := catalog.ForVersion(tag); image != "" && standing == catalog.NoVersion && release09.Left(live) {
		return settings.ReleaseOf09
	}
	return tag
}

// liveImage returns the image of the server in a Deployment; empty without one. container is the name of its container;
// empty for the operator's own choice.
func liveImage(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	for i := range live.Spec.Template.Spec.Containers {
		if c := &live.Spec.Template.Spec.Containers[i]; c.Name == cmp.Or(container, objects.ContainerName) {
			return c.Image
		}
	}
	return ""
}

// ReportedLine returns the release line that the status of a custom resource reports, for those who cannot see its
// Deployment.
func ReportedLine(cr *v1alpha2.LlamaStackDistribution) string {
	if cr.Status.ResolvedDistribution == nil {
		return ""
	}
	return cr.Status.ResolvedDistribution.ServerLine
}

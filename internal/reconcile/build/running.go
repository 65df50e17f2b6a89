// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Hints returns the hints for the release of a built-in name.
func Hints(in *Inputs, running string) settings.Hints {
	return settings.Hints{Needs: serverconfig.Needs(in.Spec), Running: running}
}

// RunningRelease returns the release line in the Deployment's annotation, else its image's tag, or "".
func RunningRelease(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	if line := live.Annotations[names.AnnotationServerLine]; line != "" {
		return line
	}
	image := liveImage(live, container)
	tag := settings.ImageTag(image)
	if _, standing := catalog.ForVersion(tag); image != "" && standing == catalog.NoVersion &&
		release09.IsUnadopted(live) {
		return settings.ReleaseOf09
	}
	return tag
}

// liveImage returns the server's image in a Deployment, or "". An empty container means the operator's container name.
func liveImage(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	for i := range live.Spec.Template.Spec.Containers {
		if c := &live.Spec.Template.Spec.Containers[i]; c.Name == cmp.Or(container, names.ContainerName) {
			return c.Image
		}
	}
	return ""
}

// ReportedLine returns the release line in the status, for callers that cannot read the Deployment.
func ReportedLine(cr *v1alpha2.LlamaStackDistribution) string {
	if cr.Status.ResolvedDistribution == nil {
		return ""
	}
	return cr.Status.ResolvedDistribution.ServerLine
}

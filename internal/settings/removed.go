// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// ImageAdvice is the advice for an image that cannot be pulled or may not be published.
const ImageAdvice = "set spec.distribution.version to a release whose image is published, set another image in " +
	"spec.distribution.image, or add a mirror of this image under mirrors in the key " +
	KeyRegistries + " of the ConfigMap " + ConfigMapName

// RemovedFrom returns the organization of the image if it was removed from its registry; otherwise empty.
func RemovedFrom(image string) string {
	repo := repository(image)
	for _, organization := range distributions.Removed() {
		if prefix, _ := strings.CutSuffix(repository(organization+"/any"), "any"); strings.HasPrefix(repo, prefix) {
			return organization
		}
	}
	return ""
}

// UnverifiedSource returns the source of a built-in release if its image may not be published; otherwise empty.
func UnverifiedSource(image string) string {
	repo := repository(image)
	line, _ := catalog.ForVersion(ImageTag(image))
	for _, d := range distributions.All() {
		for _, r := range d.Releases {
			if !r.Published && line != nil && r.Line == line.Name && repository(d.Repository) == repo {
				return r.Source
			}
		}
	}
	return ""
}

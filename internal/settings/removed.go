// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
)

// WaysFromRemoved is what to do about an image of a removed organization.
const WaysFromRemoved = "set spec.distribution.version, which names an image that exists; or name another image in spec.distribution.image; or name a " +
	"mirror that has this one under mirrors in the key " + KeyRegistries + " of the ConfigMap " + ConfigMapName

// RemovedFrom returns the organization of the image if it was removed from its registry, so that the image can be pulled from nowhere; otherwise empty.
func RemovedFrom(image string) string {
	of := repository(image)
	for _, organization := range distributions.Removed() {
		if within, _ := strings.CutSuffix(repository(organization+"/any"), "any"); strings.HasPrefix(of, within) {
			return organization
		}
	}
	return ""
}

// WaysFromUnproven is what to do about an image of a built-in distribution that may not be published.
const WaysFromUnproven = "set spec.distribution.version to a release whose image is published, or name another image or a mirror"

// Unproven returns what is known of the image if it is that of a built-in distribution and not known to be published; otherwise empty.
func Unproven(image string) string {
	of, tag := repository(image), ImageTag(image)
	for _, d := range distributions.All() {
		for _, r := range d.Releases {
			if !r.Published && r.Version == tag && repository(d.Repository) == of {
				return r.Source
			}
		}
	}
	return ""
}

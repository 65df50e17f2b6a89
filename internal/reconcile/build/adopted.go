// SPDX-License-Identifier: Apache-2.0

package build

import (
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// distribution returns the distribution to run. It keeps release 0.9's image through upgrades and edits.
func (in *Inputs) distribution() *settings.Distribution {
	kept := adopted(in)
	if kept != nil && (release09.IsUnadopted(in.Live) || keepsAdopted(in, kept) ||
		in.Live.Annotations[names.AnnotationInputHash] == inputHash(in)) {
		return kept
	}
	return in.Distribution
}

// keepsAdopted reports whether an edit keeps release 0.9's image: the distribution is the same, and the settings have
// no image of its release line.
func keepsAdopted(in *Inputs, kept *settings.Distribution) bool {
	if ptr.Deref(in.CR.Spec.Distribution.Version, "") != "" ||
		ptr.Deref(in.CR.Spec.Distribution.Name, "") != in.Live.Annotations[names.AnnotationAdoptedName] {
		return false
	}
	return in.Distribution.Listed || kept.Line != nil && in.Distribution.Line != nil &&
		kept.Line.Name != in.Distribution.Line.Name
}

// adopted returns the distribution with the image that release 0.9 left, or nil if that is the same.
func adopted(in *Inputs) *settings.Distribution {
	if in.Live == nil || in.Distribution == nil || ptr.Deref(in.CR.Spec.Distribution.Image, "") != "" {
		return nil // the user's image takes precedence
	}
	image, _ := in.Mirrors.Rewrite(release09.Image(in.Live, in.Legacy.ContainerName))
	if image == "" || image == in.Distribution.Image {
		return nil
	}
	return in.Distribution.Adopt(image)
}

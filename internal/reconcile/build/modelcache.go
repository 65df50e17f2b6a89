// SPDX-License-Identifier: Apache-2.0

package build

import (
	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// PathModelCache is the field of the model cache.
const PathModelCache = "spec.workload.modelCache"

// modelCacheImage returns the image of the model cache where pods pull it, or "".
func (in *Inputs) modelCacheImage() string {
	if image := objects.ModelCache(&in.CR.Spec).Image; image != nil {
		return in.mirroredImage(*image)
	}
	return ""
}

// checkModelCache reports a model cache that cannot be mounted, and does so for v1alpha1 too, which the schema does not
// check.
func (r *report) checkModelCache(in *Inputs) {
	spec := in.CR.Spec.Workload.ModelCache
	if spec == nil || in.ModelCacheDefault {
		return
	}
	switch {
	case (spec.Image == nil) == (spec.ClaimName == nil):
		r.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: PathModelCache, Type: field.ErrorTypeInvalid,
			Detail: "must have either image or claimName", Fix: "keep one of them",
		})
	case spec.Image != nil:
		if _, err := name.ParseReference(*spec.Image); err != nil {
			r.Add(problem.Problem{
				Reason: problem.InvalidImage, Path: PathModelCache + ".image", Type: field.ErrorTypeInvalid, Value: *spec.Image,
				Detail: "is not an image reference: " + err.Error(), Fix: "for example registry.example.com/models:1", Err: err,
			})
		}
	default:
		r.checkModelCacheClaim(in, *spec.ClaimName)
	}
}

func (r *report) checkModelCacheClaim(in *Inputs, claim string) {
	const path = PathModelCache + ".claimName"
	r.checkObjectName(path, claim, "a PersistentVolumeClaim")
	if claim == objects.ClaimName(in.CR) {
		r.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeInvalid, Value: claim,
			Detail: "is the PVC of the server's data, which a pod cannot mount twice", Fix: "use another PVC for the models",
		})
	}
	switch {
	case in.ModelCacheClaim == nil:
	case in.ModelCacheClaim.PVC == nil:
		r.missingClaim(in, path, claim, "create it, or name another one")
	case objects.IsOneNode(in.ModelCacheClaim.AccessModes()):
		if _, maxPods := objects.PodRange(&in.CR.Spec); maxPods > 1 {
			r.warn(problem.EphemeralState, path, "the PVC can be mounted by one node at a time: pods on other nodes do not "+
				"start, and an edit stops all pods before it starts new ones",
				"use a PVC with the access mode ReadOnlyMany or ReadWriteMany, or an image")
		}
	}
}

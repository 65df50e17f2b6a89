// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// parseDefaults parses spec.resources.defaults. It repeats the schema's checks for converted objects.
func parseDefaults(defaults *v1alpha2.ResourceDefaults) (Defaults, problem.List) {
	if defaults == nil {
		return Defaults{}, nil
	}
	d := Defaults{
		Model: ptr.Deref(defaults.Model, ""), EmbeddingModel: ptr.Deref(defaults.EmbeddingModel, ""),
		Shield: ptr.Deref(defaults.Shield, ""),
	}
	dimension := defaults.EmbeddingDimension
	if dimension == nil {
		return d, nil
	}
	path := field.NewPath("spec", "resources", "defaults", "embeddingDimension")
	switch {
	case d.EmbeddingModel == "":
		return d, problem.List{newProblem(problem.Problem{
			Reason: problem.MissingField, Path: path.String(), Type: field.ErrorTypeForbidden, Detail: "belongs to " +
				"embeddingModel", Fix: "set both, or remove it",
		})}
	case *dimension < 1:
		return d, problem.List{invalid(path, "must be at least 1", "for example embeddingDimension: 768")}
	}
	d.EmbeddingDimension = new(int64(*dimension))
	return d, nil
}

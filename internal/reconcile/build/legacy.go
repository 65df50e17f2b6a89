// SPDX-License-Identifier: Apache-2.0

package build

import (
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// warnLegacy warns of fields that conversion from v1alpha1 could not keep.
func (r *report) warnLegacy(in *Inputs) {
	legacy, path := &in.Legacy, "metadata.annotations["+v1alpha2.ConversionAnnotation+"]"
	if legacy.Problem != "" {
		r.warn(problem.ReviewConversion, path, "cannot be parsed, so the fields that only v1alpha1 has are not "+
			"applied: "+legacy.Problem,
			"correct the annotation, or remove it")
	}
	if len(legacy.Lost) > 0 {
		r.warn(problem.ReviewConversion, path, "these fields of v1alpha1 were lost in conversion, because the annotations "+
			"are too large: "+
			limits.Names(legacy.Lost), "remove large annotations, and set the fields again in v1alpha1")
	}
}

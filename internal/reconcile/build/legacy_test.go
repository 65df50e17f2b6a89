// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: R74.
func TestBuildWarnsOfFieldsLostInConversion(t *testing.T) {
	const path = "metadata.annotations[llamastack.io/conversion]: "
	for record, want := range map[string]string{
		`{"version":1}`: "",
		`{"version":1,"lost":["spec.providers"]}`: path + "these fields of v1alpha1 were lost in conversion, because the " +
			"annotations are too large: spec.providers: remove large annotations, and set the fields again in v1alpha1",
		`no JSON`: path + "cannot be parsed, so the fields that only v1alpha1 has are not applied: not the JSON of a " +
			"conversion record: correct the annotation, or remove it",
	} {
		in := inputs(t, "simple")
		in.CR.Annotations = map[string]string{v1alpha2.ConversionAnnotation: record}
		var found problem.List
		for _, p := range build(t, in).Warnings {
			if p.Reason == problem.ReviewConversion {
				found = append(found, p)
			}
		}
		if got := found.Message(); got != want {
			t.Errorf("%s: %s\nwant %s", record, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// MissingAPI is the problem of a field of the spec that asks for something of an API that the release line does not have. It is never
// left out in silence: a server without the moderation that someone asked for is worse than none.
func MissingAPI(line *catalog.Line, api, path string) problem.Problem {
	absence, _ := line.Absent(api)
	since, fix := "", "remove it"
	switch {
	case absence.GoneSince != "":
		since = ", which is gone since " + absence.GoneSince
	case absence.ComesWith != "":
		since = ", which comes with " + absence.ComesWith
	}
	if absence.Instead != "" {
		fix += "; " + absence.Instead
	}
	if absence.ComesWith != "" {
		fix += "; or use a distribution of release line " + absence.ComesWith
	}
	return problem.Problem{
		Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("release line %s has no API %s%s", line.Name, api, since), Fix: fix,
	}
}

// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// MissingAPI returns the problem of a field for an API that the release line does not have. It is an error, because an
// ignored API such as moderation could go unnoticed.
func MissingAPI(line *catalog.Line, api, path string) problem.Problem {
	absence, _ := line.Absent(api)
	since, fix := "", "remove it"
	switch {
	case absence.RemovedIn != "":
		since = ", which was removed in " + absence.RemovedIn
	case absence.AddedIn != "":
		since = ", which was added in " + absence.AddedIn
	}
	if absence.Instead != "" {
		fix += "; " + absence.Instead
	}
	fix += OtherLines(func(other *catalog.Line) bool { _, ok := other.APIs[api]; return ok })
	return problem.Problem{
		Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden,
		Detail: fmt.Sprintf("release line %s has no API %s%s", line.Name, api, since), Fix: fix,
	}
}

// OtherLines returns the end of a fix that names the release lines with a feature, or "".
func OtherLines(has func(*catalog.Line) bool) string {
	lines := catalog.LinesWhere(has)
	if len(lines) == 0 {
		return ""
	}
	return "; or use a server of " + FormatLines(lines) + ", with spec.distribution.version or another image"
}

// FormatLines names release lines, oldest first, for a message. A range up to the newest one reads "and newer".
func FormatLines(lines []string) string {
	all, first, last := catalog.Lines(), lines[0], lines[len(lines)-1]
	from := slices.Index(all, first)
	switch {
	case slices.Equal(lines, all[from:]):
		return "release lines " + first + " and newer"
	case len(lines) == 1:
		return "release line " + first
	case slices.Index(all, last) == from+len(lines)-1:
		return "release lines " + first + " to " + last
	}
	return "release lines " + strings.Join(lines, ", ")
}

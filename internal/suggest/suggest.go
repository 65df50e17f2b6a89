// SPDX-License-Identifier: Apache-2.0

package suggest

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known name nearest to word, and false where none is near enough to be worth a guess: more
// than a third of the letters (at least two) would have to change. Case, "-" and "_" do not count, so that
// "baseUrl" finds "base_url".
func Nearest(word string, known []string) (string, bool) {
	folded := fold(word)
	limit := max(2, len(folded)/3)
	best, bestDistance := "", limit+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := levenshtein.ComputeDistance(folded, fold(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best, best != ""
}

// Sentence returns `did you mean "x"? ` for the nearest known name, or the empty string.
func Sentence(word string, known []string) string {
	if near, ok := Nearest(word, known); ok {
		return `did you mean "` + near + `"? `
	}
	return ""
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

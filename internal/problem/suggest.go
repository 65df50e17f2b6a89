// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestWord is the longest compared word in bytes; the work grows with the length.
const longestWord = 100

// Nearest returns the known name nearest to word, ignoring case, "-" and "_", and whether at most a third of the
// letters, or two, differ. Otherwise it returns the only name with the same words, so that "url" finds "base_url".
func Nearest(word string, known []string) (string, bool) {
	if len(word) > longestWord {
		return "", false
	}
	folded := fold(word)
	limit := min(max(2, len(folded)/3), len(folded)-1) // one letter at least stays
	best, bestDistance := "", limit+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := levenshtein.ComputeDistance(folded, fold(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if best == "" {
		best = oneWithTheWords(word, known)
	}
	return best, best != ""
}

// oneWithTheWords returns the only name whose words contain, or are contained in, those of the given name, or "".
func oneWithTheWords(name string, known []string) string {
	found := ""
	for _, candidate := range known {
		if a, b := words(name), words(candidate); !hasAll(a, b) && !hasAll(b, a) {
			continue
		}
		if found != "" {
			return ""
		}
		found = candidate
	}
	return found
}

func hasAll(words, wanted []string) bool {
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(word string) bool { return !slices.Contains(words, word) })
}

var betweenWords = regexp.MustCompile(`[-_]+|([a-z0-9])([A-Z])`)

// words returns the words of a name in snake_case, kebab-case or camelCase.
func words(name string) []string {
	return strings.Fields(strings.ToLower(betweenWords.ReplaceAllString(name, "$1 $2")))
}

// DidYouMean returns `did you mean "x"? ` for the nearest known name, or the empty string.
func DidYouMean(word string, known []string) string {
	if near, ok := Nearest(word, known); ok {
		return `did you mean "` + near + `"? `
	}
	return ""
}

func fold(s string) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s))
}

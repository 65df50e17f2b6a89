// SPDX-License-Identifier: Apache-2.0

package suggest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestWord is what is worth comparing, in bytes: nobody misspells more, and the work grows with it.
const longestWord = 100

// Nearest returns the known name nearest to word, and false where none is near enough to be worth a guess: more
// than a third of the letters (at least two) would have to change. Case, "-" and "_" do not count, so that
// "baseUrl" finds "base_url". Failing that, it returns the one known name that has all words of the other, or
// the other way round: "url" finds "base_url".
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

// oneWithTheWords returns the name that has all words of a name, or whose words it has; empty where there are several,
// or none.
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

// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"strings"
	"testing"
)

// Proves: FR-075, R3.
func TestNearest(t *testing.T) {
	known := []string{"endpoint", "provider", "apiKey", "settings", "base_url", "max_tokens", "max_items", "id"}
	for word, want := range map[string]string{
		"endpont":        "endpoint",
		"api_key":        "apiKey",
		"baseUrl":        "base_url",
		"setting":        "settings",
		"xylophon":       "",
		"url":            "base_url",
		"the-URL":        "",
		"url-base":       "base_url",
		"myBaseUrlOfAll": "base_url",
		"max":            "",
		"a":              "", // all of it would change to become a name of two letters
	} {
		got, ok := Nearest(word, known)
		if got != want || ok != (want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

// A word without letters matches no name.
func TestNearestIgnoresWordsWithoutLetters(t *testing.T) {
	if got, ok := Nearest("_", []string{"endpoint"}); ok {
		t.Errorf("Nearest found %q", got)
	}
}

func TestSentence(t *testing.T) {
	if got, want := DidYouMean("endpont", []string{"endpoint"}), `did you mean "endpoint"? `; got != want {
		t.Errorf("Sentence = %q, want %q", got, want)
	}
	if got := DidYouMean("zzzzzz", []string{"endpoint"}); got != "" {
		t.Errorf("Sentence = %q, want nothing", got)
	}
}

func TestNearestComparesNothingLong(t *testing.T) {
	for length, want := range map[int]bool{longestWord: true, longestWord + 1: false} {
		word := strings.Repeat("a", length)
		if _, found := Nearest(word, []string{word}); found != want {
			t.Errorf("a word of %d bytes: %v", length, found)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// partBytes is the number of consecutive bytes of a value that Redact hides.
	partBytes = 6
	// maxEncodedBytes is the maximum size in bytes of values that are also searched for in encoded form.
	maxEncodedBytes = 64 << 10
)

// secretPatterns matches texts that look like unknown secrets. Redact keeps the captured group.
var secretPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(://)[^\s/]*@`),
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)\S+`),
	regexp.MustCompile(`(?i)((?:passw(?:or)?d|pwd|secret|token|api[_-]?key|credentials?|authorization)["']?\s*[=:]\s*)["']?[^\s"',;]+`),
	regexp.MustCompile(`(input_value=).*`),
	regexp.MustCompile(`\b()(?:sk|pk|hf|ghp|gho|glpat|xox[a-z])[-_][\w-]{6,}`),
}

// longWord matches a word that may be a key. Redact keeps those without digits.
var longWord = regexp.MustCompile(`[\w+=-]{20,}`)

// Redact removes parts of the values, also in encoded form, and texts that look like a secret. It may remove more.
func Redact(line string, values []Value) string {
	h := &redactor{line: line, hidden: make([]bool, len(line)), parts: map[int]map[string][]int{}}
	for _, v := range values {
		for _, form := range v.encodings() {
			h.hide(form)
		}
	}
	line = mask(line, h.hidden)
	for _, pattern := range secretPatterns {
		line = pattern.ReplaceAllString(line, "${1}"+Redacted)
	}
	return longWord.ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter) {
			return Redacted
		}
		return word
	})
}

// encodings returns the value and its usual encodings.
func (v Value) encodings() []string {
	s := string(v.bytes)
	if s == "" || s == OnCluster {
		return nil
	}
	if len(s) > maxEncodedBytes {
		return []string{s}
	}
	quoted := strconv.Quote(s)
	return []string{
		s, url.QueryEscape(s), url.PathEscape(s), quoted[1 : len(quoted)-1], hex.EncodeToString(v.bytes),
		base64.StdEncoding.EncodeToString(v.bytes), base64.URLEncoding.EncodeToString(v.bytes),
	}
}

// minHidden is the minimum length in bytes of a value that HideIn replaces, because shorter ones occur in any text.
const minHidden = 4

// HideIn replaces the value in a text, also in encoded form.
func (v Value) HideIn(text, with string) string {
	for _, form := range v.encodings() {
		if len(form) >= minHidden {
			text = strings.ReplaceAll(text, form, with)
		}
	}
	return text
}

// redactor marks parts of values in a text.
type redactor struct {
	line   string
	hidden []bool
	// parts maps the parts of the text to their positions, by length.
	parts map[int]map[string][]int
}

// hide marks all parts of the value. A value shorter than gram counts as a whole.
func (h *redactor) hide(value string) {
	n := min(partBytes, len(value))
	at := h.parts[n]
	if at == nil {
		at = map[string][]int{}
		for i := 0; i+n <= len(h.line); i++ {
			at[h.line[i:i+n]] = append(at[h.line[i:i+n]], i)
		}
		h.parts[n] = at
	}
	for i := 0; i+n <= len(value); i++ {
		for _, start := range at[value[i:i+n]] {
			for j := start; j < start+n; j++ {
				h.hidden[j] = true
			}
		}
	}
}

// mask replaces each word that has a hidden byte, and keeps spaces.
func mask(line string, hidden []bool) string {
	var out strings.Builder
	start := 0
	endWord := func(end int) {
		if slices.Contains(hidden[start:end], true) {
			out.WriteString(Redacted)
			return
		}
		out.WriteString(line[start:end])
	}
	for i, r := range line {
		if unicode.IsSpace(r) {
			endWord(i)
			out.WriteRune(r)
			start = i + utf8.RuneLen(r)
		}
	}
	endWord(len(line))
	return out.String()
}

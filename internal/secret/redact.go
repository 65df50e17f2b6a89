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
	// gram is how many bytes of a value in a row betray it.
	gram = 6
	// maxForms is the size of values that are also looked for in other forms than their own, in bytes.
	maxForms = 64 << 10
)

// suspicious are what secrets look like that the operator does not know. What a group catches stays.
var suspicious = []*regexp.Regexp{
	regexp.MustCompile(`(://)[^\s/]*@`),
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)\S+`),
	regexp.MustCompile(`(?i)((?:passw(?:or)?d|pwd|secret|token|api[_-]?key|credentials?|authorization)["']?\s*[=:]\s*)["']?[^\s"',;]+`),
	regexp.MustCompile(`(input_value=).*`),
	regexp.MustCompile(`\b()(?:sk|pk|hf|ghp|gho|glpat|xox[a-z])[-_][\w-]{6,}`),
}

// longWord is what can be a key: words and names are shorter, or have no digits.
var longWord = regexp.MustCompile(`[\w+=-]{20,}`)

// Redact returns a text without any part of the values, in the forms that programs print values in, and without what
// looks like a secret. It may take away more than that.
func Redact(line string, values []Value) string {
	h := &hider{line: line, hidden: make([]bool, len(line)), grams: map[int]map[string][]int{}}
	for _, v := range values {
		for _, form := range v.forms() {
			h.hide(form)
		}
	}
	line = mask(line, h.hidden)
	for _, pattern := range suspicious {
		line = pattern.ReplaceAllString(line, "${1}"+Redacted)
	}
	return longWord.ReplaceAllStringFunc(line, func(word string) string {
		if strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter) {
			return Redacted
		}
		return word
	})
}

// forms are the value as it is, and as programs print it.
func (v Value) forms() []string {
	s := string(v.bytes)
	if s == "" || s == OnCluster {
		return nil
	}
	if len(s) > maxForms {
		return []string{s}
	}
	quoted := strconv.Quote(s)
	return []string{
		s, url.QueryEscape(s), url.PathEscape(s), quoted[1 : len(quoted)-1], hex.EncodeToString(v.bytes),
		base64.StdEncoding.EncodeToString(v.bytes), base64.URLEncoding.EncodeToString(v.bytes),
	}
}

// minHidden is the length of the shortest value that HideIn hides, in bytes: shorter ones are parts of any text.
const minHidden = 4

// HideIn returns a text in which the value, in the forms that programs print values in, is replaced.
func (v Value) HideIn(text, with string) string {
	for _, form := range v.forms() {
		if len(form) >= minHidden {
			text = strings.ReplaceAll(text, form, with)
		}
	}
	return text
}

// hider marks parts of values in a text.
type hider struct {
	line   string
	hidden []bool
	// grams are the places of all parts of the text, by their length.
	grams map[int]map[string][]int
}

// hide marks all parts of the value. A value that is shorter than a gram counts as a whole.
func (h *hider) hide(value string) {
	n := min(gram, len(value))
	at := h.grams[n]
	if at == nil {
		at = map[string][]int{}
		for i := 0; i+n <= len(h.line); i++ {
			at[h.line[i:i+n]] = append(at[h.line[i:i+n]], i)
		}
		h.grams[n] = at
	}
	for i := 0; i+n <= len(value); i++ {
		for _, start := range at[value[i:i+n]] {
			for j := start; j < start+n; j++ {
				h.hidden[j] = true
			}
		}
	}
}

// mask replaces each word that has a hidden byte: so no rest of a value is left beside it. A space stays as it is.
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

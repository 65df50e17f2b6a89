// SPDX-License-Identifier: Apache-2.0

package secret

import "strings"

// telling are the lengths of the parts of a value that a name must not have, in bytes: a part of a quarter of the
// value, and of 24 bytes in any case. Names of models and hosts have shorter parts in common with many texts.
var telling = []int{8, 16, 24}

// NamesWith returns which of the names have a value in them, or a large part of one, in the forms that programs print
// values in. A value of less than eight bytes, which may be an ordinary word, is found as a whole part of a path, and
// one of less than four not at all.
func NamesWith(names []string, values []Value) map[string]bool {
	found := map[string]bool{}
	parts := map[int]map[string][]string{} // the names that have a part, by its length and text
	for _, v := range values {
		for _, form := range v.forms() {
			if len(form) < minHidden {
				continue
			}
			n := partLength(len(form))
			if parts[n] == nil {
				parts[n] = partsOf(names, n)
			}
			for i := 0; i+n <= len(form); i++ {
				for _, name := range parts[n][form[i:i+n]] {
					found[name] = true
				}
			}
		}
	}
	return found
}

// partLength is the length of the parts of a value with so many bytes that a name must not have.
func partLength(size int) int {
	n := min(size, telling[0])
	for _, longer := range telling[1:] {
		if size >= 2*longer {
			n = longer
		}
	}
	return n
}

// partsOf are all parts of the names with a length, and the names that have each.
func partsOf(names []string, length int) map[string][]string {
	parts := map[string][]string{}
	add := func(part, name string) {
		if of := parts[part]; len(of) == 0 || of[len(of)-1] != name {
			parts[part] = append(of, name)
		}
	}
	for _, name := range names {
		if length < telling[0] {
			for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '/' || r == ':' }) {
				add(part, name)
			}
			continue
		}
		for i := 0; i+length <= len(name); i++ {
			add(name[i:i+length], name)
		}
	}
	return parts
}

// HideIn returns a text without the values in the forms that programs print values in, and without words that have a
// large part of one. What only looks like a secret stays.
func HideIn(text string, values []Value) string {
	for _, v := range values {
		text = v.HideIn(text, Redacted)
	}
	words := strings.Fields(text)
	found := NamesWith(words, values)
	for i, word := range words {
		if found[word] || strings.Contains(word, Redacted) {
			words[i] = Redacted
		}
	}
	return strings.Join(words, " ")
}

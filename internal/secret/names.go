// SPDX-License-Identifier: Apache-2.0

package secret

import "strings"

// partLengths are the lengths in bytes of parts of a value that a name must not contain. Longer values need longer
// matches, because names share short parts with many texts.
var partLengths = []int{8, 16, 24}

// NamesWith returns the names that contain a value or a large part of one, also in encoded form. It finds values of 4
// to 7 bytes only as whole path segments, and no shorter ones.
func NamesWith(names []string, values []Value) map[string]bool {
	found := map[string]bool{}
	parts := map[int]map[string][]string{} // names by length and text of a part
	for _, v := range values {
		for _, form := range v.encodings() {
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

// partLength returns the length of the parts to search for in names.
func partLength(size int) int {
	n := min(size, partLengths[0])
	for _, longer := range partLengths[1:] {
		if size >= 2*longer {
			n = longer
		}
	}
	return n
}

// partsOf maps each part of that length to the names that contain it.
func partsOf(names []string, length int) map[string][]string {
	parts := map[string][]string{}
	add := func(part, name string) {
		if list := parts[part]; len(list) == 0 || list[len(list)-1] != name {
			parts[part] = append(list, name)
		}
	}
	for _, name := range names {
		if length < partLengths[0] {
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

// HideIn redacts the values in a text, also in encoded form, and the words that contain a large part of one.
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

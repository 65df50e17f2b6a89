// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"encoding/json"
	"strings"
)

// Member finds the value at a path of names in the text of a JSON object, without decoding: text[begin:end]. The first
// member with a name counts, and names are compared as bytes.
func Member(text []byte, path ...string) (begin, end int, found bool) {
	begin, end = 0, len(text)
	for _, name := range path {
		b, e, ok := member(text[begin:end], name)
		if !ok {
			return 0, 0, false
		}
		begin, end = begin+b, begin+e
	}
	return begin, end, true
}

// Spellings counts the members of a JSON object that Go's decoder would assign to the field, in any spelling.
func Spellings(text []byte, field string) (count int) {
	members(text, func(quoted []byte, _, _ int) bool {
		name := string(quoted[1:max(1, len(quoted)-1)])
		if strings.Contains(name, `\`) {
			_ = json.Unmarshal(quoted, &name) // ignore a name that cannot be decoded
		}
		if strings.EqualFold(name, field) {
			count++
		}
		return true
	})
	return count
}

func member(text []byte, name string) (begin, end int, found bool) {
	members(text, func(quoted []byte, b, e int) bool {
		found = string(quoted[1:max(1, len(quoted)-1)]) == name
		if found {
			begin, end = b, e
		}
		return !found
	})
	return begin, end, found
}

// members calls a function with the quoted name and value position of each member, until it returns false.
func members(text []byte, visit func(quoted []byte, begin, end int) bool) {
	at := space(text, 0)
	if at >= len(text) || text[at] != '{' {
		return
	}
	for at = space(text, at+1); at < len(text) && text[at] == '"'; at = space(text, at) {
		quoted := text[at:closing(text, at)]
		at = space(text, at+len(quoted))
		if at >= len(text) || text[at] != ':' {
			return
		}
		begin := space(text, at+1)
		end := after(text, begin)
		if !visit(quoted, begin, end) {
			return
		}
		if at = space(text, end); at >= len(text) || text[at] != ',' {
			return
		}
		at++
	}
}

// space returns the position of the next non-blank byte.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// after returns the position after the value that begins at a position.
func after(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"':
			at = closing(text, at)
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // the end of the object or list around the scalar
			}
			depth--
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return len(text)
}

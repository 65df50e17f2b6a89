// SPDX-License-Identifier: Apache-2.0

package bounds

// Member finds the value at a path of names in the text of an object: text[begin:end] is the value. The first member of a name counts,
// and names are compared as they are written. It is found in one pass, without decoding.
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

func member(text []byte, want string) (begin, end int, found bool) {
	at := space(text, 0)
	if at >= len(text) || text[at] != '{' {
		return 0, 0, false
	}
	for at = space(text, at+1); at < len(text) && text[at] == '"'; at = space(text, at) {
		nameEnd := closing(text, at)
		name := text[at+1 : max(at+1, nameEnd-1)]
		at = space(text, nameEnd)
		if at >= len(text) || text[at] != ':' {
			return 0, 0, false
		}
		begin = space(text, at+1)
		end = after(text, begin)
		if string(name) == want {
			return begin, end, true
		}
		if at = space(text, end); at >= len(text) || text[at] != ',' {
			return 0, 0, false
		}
		at++
	}
	return 0, 0, false
}

// space returns the position of what follows blanks.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}

// after returns the position behind the value that begins at a position.
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
				return at // the end of what is around a number or a word
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

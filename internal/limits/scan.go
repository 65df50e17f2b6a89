// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Limits bound one JSON text. A zero admits nothing.
type Limits struct {
	Bytes int
	// Levels is the maximum nesting of objects and lists: 0 for a scalar, 1 for {}.
	Levels int
	// Nodes is the maximum number of values: objects, lists and scalars, without member names.
	Nodes int
}

// Size is the measured size of a text. Items is the length of a list.
type Size struct{ Levels, Nodes, Items int }

// Unit is a unit of measurement.
type Unit string

// The units, as messages name them.
const (
	Bytes  Unit = "bytes"
	Levels Unit = "levels of nesting"
	Nodes  Unit = "values"
)

// ExcessError means that a text exceeds a limit.
type ExcessError struct {
	Unit  Unit
	Limit int
	// Path is the position of the excess, such as `.settings.a[3]`, shortened if long; empty for the root.
	Path string
}

// Error returns "more than 64 levels of nesting, at .settings.a[3]".
func (e *ExcessError) Error() string {
	message := fmt.Sprintf("more than %d %s", e.Limit, e.Unit)
	if e.Path != "" {
		message += ", at " + e.Path
	}
	return message
}

// Scan counts the levels and values of a JSON text, and stops at the first excess. Duplicate members all count.
func Scan(text []byte, limits Limits) (Size, *ExcessError) {
	s := scanner{text: text, limits: limits}
	if len(text) > limits.Bytes {
		return s.size, &ExcessError{Unit: Bytes, Limit: limits.Bytes}
	}
	for s.at < len(text) {
		if excess := s.step(); excess != nil {
			return s.size, excess
		}
	}
	return s.size, nil
}

type scanner struct {
	text   []byte
	limits Limits
	at     int
	size   Size
	frames []frame
}

// frame is an open object or list.
type frame struct {
	object bool
	// valued is true after the name of a member, when its value follows.
	valued bool
	// name is the position of the member's name in the text, with quotes.
	name  [2]int
	index int
}

func (s *scanner) step() *ExcessError {
	switch s.text[s.at] {
	case '{', '[':
		return s.open()
	case '}', ']':
		if len(s.frames) > 0 {
			s.frames = s.frames[:len(s.frames)-1]
		}
	case ',':
		if top := s.top(); top != nil {
			top.valued = false
			top.index++
		}
	case ':':
		if top := s.top(); top != nil {
			top.valued = true
		}
	case ' ', '\t', '\r', '\n':
	case '"':
		return s.str()
	default:
		return s.scalar()
	}
	s.at++
	return nil
}

func (s *scanner) top() *frame {
	if len(s.frames) == 0 {
		return nil
	}
	return &s.frames[len(s.frames)-1]
}

func (s *scanner) open() *ExcessError {
	if excess := s.node(); excess != nil {
		return excess
	}
	if len(s.frames) == s.limits.Levels {
		return &ExcessError{Unit: Levels, Limit: s.limits.Levels, Path: s.path()}
	}
	s.frames = append(s.frames, frame{object: s.text[s.at] == '{'})
	s.size.Levels = max(s.size.Levels, len(s.frames))
	s.at++
	return nil
}

// str reads a string, which is a member name or a value.
func (s *scanner) str() *ExcessError {
	begin, end := s.at, closing(s.text, s.at)
	if top := s.top(); top != nil && top.object && !top.valued {
		top.name = [2]int{begin, end}
	} else if excess := s.node(); excess != nil {
		return excess
	}
	s.at = end
	return nil
}

// closing returns the position after the string that begins at a position.
func closing(text []byte, at int) int {
	for at++; at < len(text); at++ {
		next := bytes.IndexAny(text[at:], `"\`)
		if next < 0 {
			break
		}
		if at += next; text[at] == '"' {
			return at + 1
		}
		at++ // skip the escaped byte
	}
	return len(text)
}

// scalar reads a number, boolean or null.
func (s *scanner) scalar() *ExcessError {
	if excess := s.node(); excess != nil {
		return excess
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '{', '[', '}', ']', ',', ':', ' ', '\t', '\r', '\n', '"':
			return nil
		}
	}
	return nil
}

// node counts a value, or returns an error if it exceeds the limit.
func (s *scanner) node() *ExcessError {
	if s.size.Nodes >= s.limits.Nodes {
		return &ExcessError{Unit: Nodes, Limit: s.limits.Nodes, Path: s.path()}
	}
	s.size.Nodes++
	if len(s.frames) == 1 && !s.frames[0].object {
		s.size.Items++
	}
	return nil
}

const (
	// pathSteps and pathName are the maximum number of steps in a path and of bytes in a name.
	pathSteps = 8
	pathName  = 40
)

// path returns the current position of the scanner.
func (s *scanner) path() string {
	var b strings.Builder
	for i, f := range s.frames {
		if i == pathSteps {
			b.WriteString("…")
			break
		}
		if !f.object {
			fmt.Fprintf(&b, "[%d]", f.index)
			continue
		}
		name := s.text[f.name[0]:f.name[1]]
		if inner := bytes.Trim(name, `"`); plainName(inner) {
			b.WriteByte('.')
			b.Write(inner)
			continue
		}
		b.WriteString("[" + strconv.Quote(Cut(strings.ToValidUTF8(strings.Trim(string(name), `"`), "?"), pathName)) + "]")
	}
	return b.String()
}

// plainName reports whether a name needs no quotes in a path.
func plainName(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return len(name) > 0 && len(name) <= pathName
}

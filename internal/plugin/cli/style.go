// SPDX-License-Identifier: Apache-2.0

package cli

import "io"

// Style colors text. The zero value does not.
type Style struct{ mark string }

// StyleFor returns the style for a stream of Safe. It has colors only on a terminal without NO_COLOR and TERM=dumb.
func StyleFor(w io.Writer) Style {
	if s, ok := w.(*safeWriter); ok {
		return Style{s.mark}
	}
	return Style{}
}

// OnTerminal reports whether the stream is a terminal that supports escape sequences.
func (s Style) OnTerminal() bool { return s.mark != "" }

// Bold returns the text in bold.
func (s Style) Bold(text string) string { return s.with("1", text) }

// Good returns the text in green.
func (s Style) Good(text string) string { return s.with("32", text) }

// Bad returns the text in red.
func (s Style) Bad(text string) string { return s.with("31", text) }

// Dim returns the text in gray.
func (s Style) Dim(text string) string { return s.with("90", text) }

// ClearScreen returns the sequence that clears the terminal; empty without one.
func (s Style) ClearScreen() string { return s.sequence("[H") + s.sequence("[2J") }

func (s Style) with(code, text string) string {
	if text == "" {
		return ""
	}
	return s.sequence("["+code+"m") + text + s.sequence("[0m")
}

// sequence returns an escape sequence that the stream does not escape.
func (s Style) sequence(code string) string {
	if s.mark == "" {
		return ""
	}
	return string(rune(escapeCharacter)) + s.mark + code
}

// SPDX-License-Identifier: Apache-2.0

package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colors text. The zero value leaves it as it is.
type Style struct{ colored bool }

// StyleFor returns the style for a stream: colors only for a terminal whose user wants them (NO_COLOR, TERM=dumb).
func StyleFor(w io.Writer) Style {
	file, ok := w.(*os.File)
	return Style{ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// OnTerminal reports whether the stream is a terminal that understands escape sequences.
func (s Style) OnTerminal() bool { return s.colored }

// Bold returns the text in bold.
func (s Style) Bold(text string) string { return s.with("1", text) }

// Good returns the text in green.
func (s Style) Good(text string) string { return s.with("32", text) }

// Bad returns the text in red.
func (s Style) Bad(text string) string { return s.with("31", text) }

// Dim returns the text in gray.
func (s Style) Dim(text string) string { return s.with("90", text) }

func (s Style) with(code, text string) string {
	if !s.colored || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

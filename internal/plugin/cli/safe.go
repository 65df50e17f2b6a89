// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Safe returns streams that escape control characters and commands of GitHub workflows, because text may come from a
// server, an Event or a file. It keeps streams that are safe already.
func Safe(s Streams) Streams {
	// GitHub's runner reads commands from both streams. Standard error is never parsed by programs, so it is always
	// escaped.
	s.Out = safe(s.Out, os.Getenv("GITHUB_ACTIONS") == "true")
	s.Err = safe(s.Err, true)
	return s
}

// Flush writes incomplete characters held back by the streams.
func Flush(s Streams) error {
	var errs []error
	for _, w := range []io.Writer{s.Out, s.Err} {
		if w, ok := w.(*safeWriter); ok {
			errs = append(errs, w.flush())
		}
	}
	return errors.Join(errs...)
}

// MachineReadable returns the writer for JSON, YAML and workflow commands. It escapes only characters that JSON and
// YAML do not allow.
func MachineReadable(w io.Writer) io.Writer {
	if s, ok := w.(*safeWriter); ok {
		return &safeWriter{to: s.to, machineReadable: true}
	}
	return w
}

var errTerminal = errors.New("binary output is not written to a terminal: use a file, or redirect standard output")

// Binary returns the writer for binary data, or an error if it is a terminal.
func Binary(w io.Writer) (io.Writer, error) {
	if s, ok := w.(*safeWriter); ok {
		w = s.to
	}
	if isTerminal(w) {
		return nil, errTerminal
	}
	return w, nil
}

// Text returns the escaped text; workflow commands are not escaped.
func Text(text string) string {
	return string((&safeWriter{}).escapeAll([]byte(text)))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

type safeWriter struct {
	to              io.Writer
	machineReadable bool
	// inWorkflow escapes commands of GitHub workflows.
	inWorkflow bool
	// mark is a random text after the escape character of the plugin's own sequences; empty without colors.
	mark string

	mu sync.Mutex
	// pending is an incomplete character, sequence or command.
	pending []byte
	// midLine reports that the line already has more than white space, because workflow commands start a line.
	midLine bool
}

func safe(w io.Writer, inWorkflow bool) io.Writer {
	if _, ok := w.(*safeWriter); ok || w == nil {
		return w
	}
	s := &safeWriter{to: w, inWorkflow: inWorkflow}
	if isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		s.mark = rand.Text()
	}
	return s
}

func (w *safeWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out bytes.Buffer
	text := slices.Concat(w.pending, p)
	for len(text) > 0 && !w.isIncomplete(text) {
		text = text[w.next(&out, text):]
	}
	w.pending = bytes.Clone(text)
	if _, err := w.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *safeWriter) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.pending
	w.pending = nil
	_, err := w.to.Write(w.escapeAll(text))
	return err
}

func (w *safeWriter) escapeAll(text []byte) []byte {
	var out bytes.Buffer
	for len(text) > 0 {
		text = text[w.next(&out, text):]
	}
	return out.Bytes()
}

// next writes the first character or own sequence, escaped if necessary, and returns its length.
func (w *safeWriter) next(out *bytes.Buffer, text []byte) int {
	if n := w.styleSequence(text); n > 0 {
		out.WriteByte(escapeCharacter)
		out.Write(text[len(w.stylePrefix()):n])
		return n
	}
	r, size := utf8.DecodeRune(text)
	switch {
	case r == utf8.RuneError && size == 1:
		fmt.Fprintf(out, `\x%02x`, text[0])
	case r == '\r' && len(text) > 1 && text[1] == '\n':
		out.WriteByte('\r')
	case w.isControl(r), w.startsCommand(text):
		w.writeEscape(out, r)
	default:
		out.Write(text[:size])
	}
	w.midLine = r != '\n' && (w.midLine || !unicode.IsSpace(r))
	return size
}

const (
	escapeCharacter = 0x1b
	// maxPending exceeds the length of the longest held text, an own sequence.
	maxPending = 40
)

// isControl reports whether the character controls a terminal: control characters except tab and line feed, and
// bidirectional formatting.
func (w *safeWriter) isControl(r rune) bool {
	switch {
	case r == '\t', r == '\n':
		return false
	case unicode.IsControl(r):
		return true
	}
	return !w.machineReadable && (r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069')
}

func (w *safeWriter) writeEscape(out *bytes.Buffer, r rune) {
	if r < utf8.RuneSelf && !w.machineReadable { // JSON does not have \x escapes
		fmt.Fprintf(out, `\x%02x`, r)
		return
	}
	fmt.Fprintf(out, `\u%04x`, r)
}

// The two forms of a workflow command: at the start of a line, and anywhere in it.
var (
	commandLine   = []byte("::")
	commandInLine = []byte("##[")
)

// startsCommand reports whether a workflow command starts here.
func (w *safeWriter) startsCommand(text []byte) bool {
	return w.inWorkflow && (!w.midLine && bytes.HasPrefix(text, commandLine) || bytes.HasPrefix(text, commandInLine))
}

// styleSequence returns the length of the own sequence at the start of a text, up to a letter; otherwise 0.
func (w *safeWriter) styleSequence(text []byte) int {
	if w.mark == "" || text[0] != escapeCharacter || !bytes.HasPrefix(text, w.stylePrefix()) {
		return 0
	}
	begin := len(w.stylePrefix())
	end := bytes.IndexFunc(text[begin:], unicode.IsLetter)
	if end < 0 {
		return 0
	}
	return begin + end + 1
}

// isIncomplete reports whether more text is needed to interpret the start of the text.
func (w *safeWriter) isIncomplete(text []byte) bool {
	if len(text) >= maxPending {
		return false
	}
	isPrefix := func(sequence []byte) bool { return len(text) < len(sequence) && bytes.HasPrefix(sequence, text) }
	return !utf8.FullRune(text) || len(text) == 1 && text[0] == '\r' ||
		w.mark != "" && text[0] == escapeCharacter && (isPrefix(w.stylePrefix()) || bytes.HasPrefix(text, w.stylePrefix()) &&
			w.styleSequence(text) == 0) ||
		w.inWorkflow && (!w.midLine && isPrefix(commandLine) || isPrefix(commandInLine))
}

func (w *safeWriter) stylePrefix() []byte { return []byte(string(rune(escapeCharacter)) + w.mark) }

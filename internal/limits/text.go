// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const cutMark = "… (cut)"

// Cut shortens a text to at most that many bytes, at a character boundary, and marks the cut.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len(cutMark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// Message shortens a message to MessageBytes.
func Message(text string) string { return Cut(text, MessageBytes) }

// nameBytes is the maximum length of a name in a list.
const nameBytes = 100

// Names joins up to NamesInMessage names with ", " and counts the rest: "a, b and 7 more".
func Names(names []string) string { return List(names, ", ") }

// List joins names as Names does, with another separator.
func List(names []string, separator string) string {
	more := len(names) - NamesInMessage
	shown := make([]string, 0, NamesInMessage)
	for _, name := range names[:min(len(names), NamesInMessage)] {
		shown = append(shown, Cut(name, nameBytes))
	}
	if more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(shown, separator), more)
	}
	return strings.Join(shown, separator)
}

// pathBytes is the maximum length of a path: keys of open fields can be long, and every value below has a path.
const pathBytes = 256

// Join appends a member or index, such as ".settings" or "[3]", to a path, within pathBytes.
func Join(path, step string) string {
	if len(path)+len(step) <= pathBytes {
		return path + step
	}
	if len(path) >= pathBytes-len(cutMark) {
		return path
	}
	return Cut(path+step, pathBytes)
}

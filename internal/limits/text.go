// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cutMark stands at the end of what was cut.
const cutMark = "… (cut)"

// Cut shortens a text to at most so many bytes; what is cut says so. It cuts no character in two.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := max(0, most-len(cutMark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + cutMark
}

// Message shortens a message to what a message may be.
func Message(text string) string { return Cut(text, MessageBytes) }

// nameBytes is how much of a name is shown in a list.
const nameBytes = 100

// Names joins names for a message with ", ", the first of them where there are many: "a, b and 7 more".
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

// pathBytes is how long a path gets: keys of open fields can be as long as the whole resource, and every value below
// has a path.
const pathBytes = 256

// Join puts a path and the name of a member or the index of an item together, such as ".settings" or "[3]". A path that
// is long already stays as it is.
func Join(path, step string) string {
	if len(path)+len(step) <= pathBytes {
		return path + step
	}
	if len(path) >= pathBytes-len(cutMark) {
		return path
	}
	return Cut(path+step, pathBytes)
}

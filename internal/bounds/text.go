// SPDX-License-Identifier: Apache-2.0

package bounds

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

// Names joins names for a message with ", ", the first of them where there are many: "a, b and 7 more".
func Names(names []string) string {
	if more := len(names) - NamesInMessage; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:NamesInMessage], ", "), more)
	}
	return strings.Join(names, ", ")
}

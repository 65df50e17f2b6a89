// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"os"
	"strings"
)

// WriteAtomic writes a file atomically: a reader sees the old or the new content.
func WriteAtomic(file string, data []byte) error {
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// JSON returns a value as indented JSON.
func JSON(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// LastLines returns the last n lines of text.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

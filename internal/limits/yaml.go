// SPDX-License-Identifier: Apache-2.0

package limits

import "bytes"

// ScanYAML estimates from above how many values a YAML text has, before a parser makes a tree of it: each but the first
// follows a line break, a comma, a bracket, or one of "- ", ": " and "? ". Text in between that looks the same counts,
// too. Aliases are not expanded: who expands them counts. YAML's parser itself bounds the levels.
func ScanYAML(text []byte, limits Limits) *ExcessError {
	if len(text) > limits.Bytes {
		return &ExcessError{Unit: Bytes, Limit: limits.Bytes}
	}
	values := 1
	for i, c := range text {
		switch c {
		case ',', '[', '{':
			values++
		case '-', ':', '?':
			if i+1 == len(text) || bytes.IndexByte([]byte(" \t\r\n"), text[i+1]) >= 0 {
				values++
			}
		}
		if values > limits.Nodes {
			return &ExcessError{Unit: Nodes, Limit: limits.Nodes}
		}
	}
	return nil
}

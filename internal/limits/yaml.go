// SPDX-License-Identifier: Apache-2.0

package limits

import "bytes"

// ScanYAML checks an upper estimate of the number of values in a YAML text before it is parsed. It does not expand
// aliases; the YAML parser bounds the nesting.
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

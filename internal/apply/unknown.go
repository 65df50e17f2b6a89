// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"regexp"
	"strings"
)

// unknownField reports whether the API server does not know a field of an object: created with strict validation, or applied.
func unknownField(err error) bool {
	return len(unknownFields(err)) > 0 || strings.Contains(err.Error(), "field not declared in schema")
}

// unknownFields are the fields of an object that the API server does not know, where it was created with strict validation.
func unknownFields(err error) (fields []string) {
	_, list, strict := strings.Cut(err.Error(), "strict decoding error: ")
	for _, match := range quotedField.FindAllStringSubmatch(list, -1) {
		if strict {
			fields = append(fields, match[1])
		}
	}
	return fields
}

var quotedField = regexp.MustCompile(`unknown field "([^"]+)"`)

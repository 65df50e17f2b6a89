// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"fmt"
	"strconv"
	"strings"
)

// nest wraps a JSON text into the number of nested objects.
func nest(levels int, leaf string) string {
	return strings.Repeat(`{"a":`, levels) + leaf + strings.Repeat("}", levels)
}

// list returns a JSON array of n items; # in the item is replaced by its number.
func list(n int, item string) string {
	return "[" + items(n, item) + "]"
}

// object returns a JSON object of n members; # in the member is replaced by its number.
func object(n int, member string) string {
	return "{" + items(n, member) + "}"
}

func items(n int, item string) string {
	b := &strings.Builder{}
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(item, "#", strconv.Itoa(i)))
	}
	return b.String()
}

// resource returns a LlamaStackDistribution as JSON. The spec is that of the version, without its braces.
func resource(version, name, spec string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"llamastack.io/%s","kind":"LlamaStackDistribution","metadata":{"name":%q},"spec":{%s}}`, version, name, spec)
}

// starter is the part of a v1alpha2 spec that every resource has.
const starter = `"distribution":{"name":"starter"}`

func vllm(settings string) string {
	return `{"provider":"vllm","endpoint":"http://vllm:8000","settings":` + settings + `}`
}

// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"fmt"
	"strings"
	"testing"
)

// text is like what caches hold: names and values that resemble each other, few of which are the same.
func text() []byte {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, `{"name":"VARIABLE_%d","value":"/home/server/.llama/%x"},"f:image-%[1]d":{},`, i, i*7919)
	}
	return []byte(b.String())
}

func BenchmarkPack(b *testing.B) {
	plain := text()
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		size = len(Pack(plain))
	}
	b.ReportMetric(100*float64(size)/float64(len(plain)), "%")
}

func BenchmarkUnpack(b *testing.B) {
	packed := Pack(text())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Unpack(packed); err != nil {
			b.Fatal(err)
		}
	}
}

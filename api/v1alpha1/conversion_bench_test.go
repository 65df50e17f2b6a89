// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	kjson "sigs.k8s.io/json"
)

func BenchmarkConversion(b *testing.B) {
	before, err := os.ReadFile(filepath.Join("testdata", "conversion", "full-featured", "before.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join("testdata", "conversion", "full-featured", "after.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	fromSpoke, fromHub := object(b, string(before)), object(b, string(after))
	annotatedHub, annotatedSpoke := ToV1alpha2(fromSpoke), FromV1alpha2(fromHub)

	for _, bench := range []struct {
		name    string
		object  map[string]any
		convert func(map[string]any) map[string]any
	}{
		{"ToV1alpha2", fromSpoke, ToV1alpha2},
		{"FromV1alpha2", fromHub, FromV1alpha2},
		{"ToV1alpha2WithRecord", annotatedSpoke, ToV1alpha2},
		{"FromV1alpha2WithRecord", annotatedHub, FromV1alpha2},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bench.convert(bench.object)
			}
		})
	}
	b.Run("BytesToBytes", func(b *testing.B) {
		raw, err := json.Marshal(fromSpoke)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			var tree map[string]any
			if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree); err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(ToV1alpha2(tree)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

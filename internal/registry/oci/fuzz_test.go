// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"path"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

// Proves: R63 (no panic, bounded results, and a layer path below its root).
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"io.llamastack.config.base64":"dmVyc2lvbjogMgo="}`, `{"config":{"Labels":{"com.ogx.distribution.version":"1.4.0","com.ogx.config.config.yaml":"YQ=="}}}`,
		`{"io.llamastack.config.layer":"sha256:` + strings.Repeat("0a", 32) + `","io.llamastack.config.path":"/app/../../config.yaml"}`,
		`{"com.ogx.distribution.default-config":"a","com.ogx.config.a":"%"}`, `{"config":null}`, "[]", "", "{", `{"a":1}`,
		`{"org.opencontainers.image.version":"0.7.1` + strings.Repeat("a", 2000) + `"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		labels, err := oci.Decode(text)
		if err != nil {
			return
		}
		l, err := oci.Read(labels)
		if err != nil {
			return
		}
		if len(l.Config) > 1<<20 || len(l.Version) > 1<<10 || l.Layer != nil && len(l.Layer.Path) > 1<<10 {
			t.Errorf("%d bytes of configuration, %d of a version", len(l.Config), len(l.Version))
		}
		if at := l.Layer; at != nil && (at.Path == "" || at.Path[0] == '/' || path.Clean("/"+at.Path) != "/"+at.Path) {
			t.Errorf("path %q", at.Path)
		}
	})
}

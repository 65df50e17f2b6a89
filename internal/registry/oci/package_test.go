// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

// Proves: R92 (which file of an image describes the server's package).
func TestIsServerPackage(t *testing.T) {
	for file, want := range map[string]bool{
		"usr/local/lib/python3.12/site-packages/ogx-1.4.0.dist-info/METADATA":                true,
		"usr/local/lib/python3.12/site-packages/llama_stack-0.7.1.dist-info/METADATA":        true,
		"/opt/app-root/lib64/python3.12/site-packages/llama_stack-0.3.5.dist-info/METADATA":  true,
		"usr/local/lib/python3.13/dist-packages/Llama_Stack-0.3.5+rhai0.dist-info/METADATA":  true,
		"usr/local/lib/python3.12/site-packages/llama_stack_api-0.7.1.dist-info/METADATA":    false,
		"usr/local/lib/python3.12/site-packages/llama_stack_client-0.7.1.dist-info/METADATA": false,
		"usr/local/lib/python3.12/site-packages/ogx_api-1.4.0.dist-info/METADATA":            false,
		"usr/local/lib/python3.12/site-packages/ogx.dist-info/METADATA":                      false,
		"usr/local/lib/python3.12/site-packages/ogx-1.4.0.dist-info/RECORD":                  false,
		"usr/local/lib/python3.12/site-packages/ogx-1.4.0.dist-info/licenses/METADATA":       false,
		"root/.cache/uv/archive-v0/x/ogx-1.4.0.dist-info/METADATA":                           false,
		"site-packages/ogx-1.4.0.dist-info":                                                  false,
		"METADATA":                                                                           false,
		"":                                                                                   false,
	} {
		if got := oci.IsServerPackage(file); got != want {
			t.Errorf("%q: %v", file, got)
		}
	}
}

// Proves: R92 (METADATA has the release, and a build without a release has none).
func TestReadPackage(t *testing.T) {
	const rest = "Summary: Version: 9.9.9\nRequires-Dist: ogx-api==1.0.0\n\nVersion: 8.8.8\n"
	for text, want := range map[string]oci.Package{
		"Metadata-Version: 2.4\nName: ogx\nVersion: 1.4.0\n" + rest:            {Name: "ogx", Version: "1.4.0"},
		"Metadata-Version: 2.4\r\nName: llama-stack\r\nVersion: 0.3.5\r\n":     {Name: "llama_stack", Version: "0.3.5"},
		"Name: Llama_Stack\nVersion: 0.5.0+rhai0\nRequires-Dist: torch; cut":   {Name: "llama_stack", Version: "0.5.0+rhai0"},
		"Name: llama_stack\nVersion: 0.2.23\n" + rest:                          {Name: "llama_stack", Version: "0.2.23"},
		"Name: ogx\nVersion: 1.6.0.dev0\n" + rest:                              {Name: "ogx", Version: "1.6.0.dev0"},
		"Name: ogx\nVersion: 1.4.0rc1\nDescription: " + strings.Repeat("é", 9): {Name: "ogx", Version: "1.4.0rc1"},
	} {
		got, err := oci.ReadPackage([]byte(text))
		if err != nil || *got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "does not name", "\x00\xff": "does not name", "Name: ogx\n": "does not name", "Version: 1.4.0\n": "does not name",
		"Name: ogx-api\nVersion: 1.4.0\n":                  "does not name",
		"Name: ogx\n\nVersion: 1.4.0\n":                    "does not name",
		"Name: ogx\nVersion: 0.1.dev7+g12\n":               "not that of a release",
		"Name: ogx\nVersion: 0.0.0\n":                      "not that of a release",
		"Name: ogx\nVersion: 20260101\n":                   "not that of a release",
		"Name: ogx\nVersion: " + strings.Repeat("x", 4000): "not that of a release",
	} {
		if got, err := oci.ReadPackage([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60q: %+v, %v; want %q", text, got, err, want)
		}
	}
}

// FuzzReadPackage checks that no METADATA causes a panic, and that a result has a release.
func FuzzReadPackage(f *testing.F) {
	f.Add([]byte("Metadata-Version: 2.4\nName: ogx\nVersion: 1.4.0\n\nText"))
	f.Add([]byte("Name: ogx\n Version: 1\nVersion: 0.1.dev7\n"))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		if p, err := oci.ReadPackage(metadata); err == nil && (p.Version == "" || p.Name == "") {
			t.Errorf("%+v", p)
		}
	})
}

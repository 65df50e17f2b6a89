// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/programs"
)

func TestBuildIsPinned(t *testing.T) {
	for name, from := range map[string]fs.FS{"go.mod": sources, "oldest/go.mod": os.DirFS("oldest")} {
		version, err := programs.KubernetesVersion(from)
		if err != nil {
			t.Fatal(err)
		}
		staging := "k8s.io/apiserver => k8s.io/apiserver v0." + strings.TrimPrefix(version, "v1.")
		if !strings.Contains(read(t, name), staging) {
			t.Errorf("%s requires Kubernetes %s but does not replace its parts by that release's: no line %q", name, version, staging)
		}
	}
}

// The minimum Kubernetes version in the documentation and packages is the one that the tests run.
func TestOldestReleaseMatchesTheDocumentation(t *testing.T) {
	version, err := programs.KubernetesVersion(os.DirFS("oldest"))
	if err != nil {
		t.Fatal(err)
	}
	minor := version[1:strings.LastIndex(version, ".")]
	for file, text := range map[string]string{
		"../../README.md":                     "The cluster needs Kubernetes " + minor + " or newer.",
		"../chart/main.go":                    `kubeVersion: ">=` + minor + `.0-0"`,
		"../bundle/csv.go":                    `"minKubeVersion": "` + minor + `.0"`,
		"../../docs/maintainers/releasing.md": "Kubernetes " + minor + ",",
	} {
		if !strings.Contains(read(t, file), text) {
			t.Errorf("%s does not say %q: the oldest release that is tested is %s", file, text, version)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

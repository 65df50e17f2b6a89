// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/programs"
)

func TestBuildIsPinned(t *testing.T) {
	version, err := programs.KubernetesVersion(sources)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	staging := "k8s.io/apiserver => k8s.io/apiserver v0." + strings.TrimPrefix(version, "v1.")
	if !strings.Contains(string(mod), staging) {
		t.Errorf("go.mod requires Kubernetes %s but does not replace its parts by that release's: no line %q", version, staging)
	}
}

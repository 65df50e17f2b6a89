// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Clients get the dependencies of Kubernetes' API types, and one package of this module without dependencies.
func TestTypesDependOnlyOnKubernetesTypes(t *testing.T) {
	const module = "github.com/llamastack/llama-stack-k8s-operator/"
	allowed := dependencies(t, "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1")
	allowed = append(allowed, module+"api/v1alpha1", module+"api/v1alpha2", module+"internal/limits")
	ours := dependencies(t, module+"api/v1alpha1", module+"api/v1alpha2")
	if !slices.Contains(ours, module+"api/v1alpha2") || len(ours) < 10 {
		t.Fatalf("go list found too few packages: %v", ours)
	}
	for _, name := range ours {
		if !slices.Contains(allowed, name) {
			t.Errorf("the API types depend on %s: move what needs it to another package", name)
		}
	}
}

// dependencies returns the packages and their dependencies, without the standard library.
func dependencies(t *testing.T, packages ...string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}"}, packages...)...)
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return strings.Fields(string(out))
}

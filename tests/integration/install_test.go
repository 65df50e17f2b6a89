// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// oldCRD is a CRD of this name that has stored v1alpha1 objects, as the v0.9 operator leaves it.
const oldCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llamastackdistributions.llamastack.io}
spec:
  group: llamastack.io
  names: {kind: LlamaStackDistribution, listKind: LlamaStackDistributionList, plural: llamastackdistributions, singular: llamastackdistribution, shortNames: [llsd]}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// Proves: R58 (over a CRD that has stored v1alpha1 the API server refuses ours, and nothing is pruned).
func TestInstallOverV1alpha1IsRefused(t *testing.T) {
	old, err := fixture.Up(fixture.ControlPlane, "old")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := old.Remove(); err != nil {
			t.Error(err)
		}
	})
	run := func(stdin string, args ...string) (string, error) {
		return old.KubectlInput(t.Context(), stdin, args...)
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		out, err := run(stdin, args...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	must(oldCRD, "apply", "-f", "-")
	must("", "wait", "--for=condition=Established", "crd/llamastackdistributions.llamastack.io")
	must("apiVersion: llamastack.io/v1alpha1\nkind: LlamaStackDistribution\nmetadata: {name: old, namespace: default}\nspec: {server: {anything: kept}}\n",
		"apply", "-f", "-")
	out, err := run("", "apply", "-f", filepath.Join(fixture.Root(), "dist", "install.yaml"))
	if err == nil || !strings.Contains(out, "status.storedVersions") || !strings.Contains(out, "v1alpha1") {
		t.Errorf("the install says:\n%s\nwant the API server to refuse the CRD because of v1alpha1", out)
	}
	if out := must("", "get", "llsd", "old", "-o", "yaml"); !strings.Contains(out, "anything: kept") {
		t.Errorf("the object lost something:\n%s", out)
	}
}

// Proves: L-19, L-34 (a list of namespaces limits the operator; without one it looks after all).
func TestNamespaces(t *testing.T) {
	watched, other := newEnv(t), newEnv(t)
	for _, e := range []*env{watched, other} {
		e.mustApply(manifest("bare", "distribution: {name: starter}"))
	}
	op := watched.startOperator(operatorOptions{})
	watched.waitReady("bare")
	if s := other.resource("bare").Status; s.Phase != "" {
		t.Errorf("a resource in another namespace was touched: %+v", s)
	}
	op.stop()
	watched.startOperator(operatorOptions{namespaces: []string{}})
	other.waitFor("bare", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
}

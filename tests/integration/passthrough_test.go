// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// Proves: R61, FR-074, FR-075 (a value that Kubernetes would refuse is refused by `kubectl apply --dry-run=server` already, with the field of the
// custom resource; none is refused that Kubernetes takes).
func TestValuesThatKubernetesRefuses(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.startValidation()
	for _, c := range fixture.RefusedValues() {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := yaml.UnmarshalStrict([]byte(manifest("s", "distribution: {name: starter}\n"+c.Spec)), cr); err != nil {
			t.Fatalf("%s: %v", c.Spec, err)
		}
		cr.Namespace = e.namespace
		if err := admin.Create(t.Context(), cr.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), c.Problem) {
			t.Errorf("%s: answered %v, want %q", c.Spec, err, c.Problem)
		}

		p := &objects.Params{CR: cr, Image: "registry.example/starter:0.7.1", PortVariables: []string{"PORT"}}
		made := []client.Object{objects.Deployment(p)}
		if budget := objects.PodDisruptionBudget(p); budget != nil {
			made = append(made, budget)
		}
		refused := strings.Contains(c.Spec, "storage") // of a size of zero the builder makes the default
		for _, o := range made {
			o.SetOwnerReferences(nil)
			refused = refused || apierrors.IsInvalid(admin.Create(t.Context(), o, client.DryRunAll))
		}
		if !refused {
			t.Errorf("%s: Kubernetes takes it", c.Spec)
		}
	}
}

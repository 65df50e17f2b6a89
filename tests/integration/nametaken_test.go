// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: R61, R69 (if the name of any object of a new custom resource is taken, none of its objects stays, the message is
// about a first apply, and the resource becomes Ready once the name is free).
func TestNothingIsCreatedIfANameIsTaken(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"plain": withProvider, "full": afterEdit} {
		for _, r := range refusable {
			if name == "plain" && !slices.Contains([]string{"ServiceAccount", "ConfigMap", "Deployment", "Service"}, r.kind) {
				continue
			}
			t.Run(name+" "+r.kind, func(t *testing.T) {
				t.Parallel()
				e := newEnv(t)
				e.CreateSecret("redis", map[string]string{"password": suite.Canaries.New()})
				e.CreateSecret("keys", map[string]string{"token": canary})
				op := e.StartOperator()
				e.Apply(framework.Manifest("s", spec))
				e.WaitReady("s")
				var taken string
				for key := range e.written() {
					if kind, object, _ := strings.Cut(key, "/"); kind == r.kind {
						taken = object
					}
				}
				e.Kubectl("delete", "llsd", "s", "--cascade=foreground", "--wait")
				foreign := &unstructured.Unstructured{}
				framework.NoError(t, yaml.Unmarshal([]byte(probes[r.resources]), foreign))
				foreign.SetNamespace(e.Name)
				foreign.SetName(taken)
				e.Eventually("the name is free", func() error { // a PVC ends with its pods
					return suite.Admin.Create(t.Context(), foreign)
				})
				before := len(op.Requests.All())

				e.Apply(framework.Manifest("s", spec))
				message := e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.Conflict))
				if !strings.HasPrefix(message, r.kind+" "+taken+": exists") || !strings.Contains(message, "nothing was created") {
					t.Errorf("message %q", message)
				}
				// The removal of an object starts a pass that may not know the status yet, and creates and removes them again.
				e.Quiet(op)
				e.Eventually("none of its objects stays", func() error {
					if made := e.written(); len(made) > 0 {
						return fmt.Errorf("%s %s is taken, and exist: %v", r.kind, taken, slices.Sorted(maps.Keys(made)))
					}
					return nil
				})
				e.Quiet(op)
				for _, request := range op.Requests.Writes(before) {
					if strings.HasPrefix(request, "POST ") && strings.HasSuffix(request, "/"+"persistentvolumeclaims") {
						t.Errorf("a PVC was created: %s", request)
					}
				}
				e.WaitCondition("s", v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonNotDeployed)

				// A later reconcile creates nothing either.
				before = len(op.Requests.All())
				e.PatchSpec("s", `{"networking":{"allowedFrom":{"namespaces":["c"]}}}`)
				e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.Conflict))
				e.Quiet(op)
				for _, request := range op.Requests.Writes(before) {
					if strings.HasPrefix(request, "POST ") && !strings.HasSuffix(request, suite.DryRun) && !strings.HasSuffix(request, suite.Conflict) && !strings.HasSuffix(request, "/events") {
						t.Errorf("written again: %s", request)
					}
				}
				if err := suite.Admin.Get(t.Context(), e.Key(taken), foreign); err != nil || len(foreign.GetOwnerReferences()) > 0 {
					t.Errorf("the foreign object: %v, %v", err, foreign.GetOwnerReferences())
				}
				framework.NoError(t, suite.Admin.Delete(t.Context(), foreign))
				e.Eventually("the foreign object is gone", func() error {
					if err := suite.Admin.Get(t.Context(), e.Key(taken), foreign); !apierrors.IsNotFound(err) {
						return fmt.Errorf("reading it: %w", err)
					}
					return nil
				})
				e.PatchSpec("s", `{"networking":{"allowedFrom":{"namespaces":["d"]}}}`)
				e.WaitReady("s")
			})
		}
	}
}

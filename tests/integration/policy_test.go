// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// policyName is the name of the policy and of its binding.
const policyName = "llama-stack-k8s-operator-spec"

// denied is what kubectl prints of a resource that the policy refuses, before the policy's message.
func denied(name string) string {
	return fmt.Sprintf("The llamastackdistributions %q is invalid: : ValidatingAdmissionPolicy '%s' with binding '%s' denied request: ",
		name, policyName, policyName)
}

// policyApplies reports whether the API server validates resources of the namespace by the policy.
func policyApplies(ctx context.Context, namespace string) (bool, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest("probe", "distribution: {name: starter}\nproviders: {inference: []}")), u); err != nil {
		return false, err
	}
	u.SetNamespace(namespace)
	err := admin.Create(ctx, u, client.DryRunAll)
	if apierrors.IsInvalid(err) {
		return true, nil
	}
	return false, err
}

// Whether the policy validates a namespace.
const (
	inForce = true
	exempt  = false
)

// awaitPolicy waits until the API server, which learns of a policy by a watch, has taken it or has let it go.
func awaitPolicy(ctx context.Context, namespace string, want bool) error { //nolint:revive // the value that is waited for
	return framework.Poll(ctx, time.Minute, func() error {
		got, err := policyApplies(ctx, namespace)
		if err == nil && got != want {
			err = errors.New("the policy has not been noticed")
		}
		return err
	})
}

// exemptLabel exempts a namespace of these tests from the policy.
const exemptLabel = "test.llamastack.io/without-policy"

// allowExemptions lets single tests exempt their namespace, and no other one, from the policy.
func allowExemptions(ctx context.Context) error {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policyName}}
	return admin.Patch(ctx, binding, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"`+exemptLabel+`","operator":"DoesNotExist"}]}}}}`)))
}

// withoutPolicy exempts the namespace of the test from the policy, for what only the operator shall validate.
func (e *env) withoutPolicy() {
	e.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	set := func(ctx context.Context, label string, want bool) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+exemptLabel+`":`+label+`}}}`))
		if err := errors.Join(admin.Patch(ctx, namespace, patch), awaitPolicy(ctx, e.namespace, want)); err != nil {
			e.t.Error(err)
		}
	}
	e.t.Cleanup(func() { set(context.Background(), "null", inForce) })
	set(e.t.Context(), `""`, exempt)
}

// Proves: R57 (labels, status and what else is not the spec never fail on an old object; an edit of the spec is validated).
func TestPolicyLeavesOldObjectsAlone(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	t.Run("an object from before the policy", func(t *testing.T) {
		old := *e
		old.t = t
		old.withoutPolicy()
		old.mustApply(manifest("old", "distribution: {name: starter}\nproviders: {inference: [{provider: vllm}, {provider: vllm}]}"))
		old.mustApply(manifest(strings.Repeat("a", 60), "distribution: {name: starter}"))
	})
	for _, args := range [][]string{
		{"label", "llsd", "old", "a=b"},
		{"annotate", "llsd", "old", "a=b"},
		{"patch", "llsd", "old", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed"}}`},
		{"patch", "llsd", strings.Repeat("a", 60), "--type=merge", "-p", `{"spec":{"workload":{"replicas":2}}}`},
	} {
		if out, err := cluster.KubectlRun(t.Context(), append(args, "-n", e.namespace)...); err != nil {
			t.Errorf("%v: %s", args, out)
		}
	}
	out, err := cluster.KubectlRun(t.Context(), "patch", "llsd", "old", "-n", e.namespace, "--type=merge", "-p", `{"spec":{"workload":{"replicas":2}}}`)
	if err == nil || !strings.Contains(out, "spec.providers.inference[0].id: Required value") {
		t.Errorf("an edit of the spec: %s", out)
	}
}

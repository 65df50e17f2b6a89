// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"errors"
	"fmt"
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

// PolicyName is the name of the admission policy and of its binding.
const PolicyName = "llama-stack-k8s-operator-spec"

// Denied returns the output of kubectl for a resource that the policy denies, up to the policy's message.
func Denied(name string) string {
	return fmt.Sprintf("The llamastackdistributions %q is invalid: : ValidatingAdmissionPolicy '%s' with binding '%s' denied request: ",
		name, PolicyName, PolicyName)
}

// policyApplies reports whether the API server validates resources of the namespace by the policy.
func policyApplies(ctx context.Context, namespace string) (bool, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(framework.Manifest("probe", "distribution: {name: starter}\nproviders: {inference: []}")), u); err != nil {
		return false, err
	}
	u.SetNamespace(namespace)
	err := Admin.Create(ctx, u, client.DryRunAll)
	if apierrors.IsInvalid(err) {
		return true, nil
	}
	return false, err
}

// The results of policyApplies.
const (
	validated = true
	exempt    = false
)

// awaitPolicy waits until the API server, which watches policies, validates the namespace or not.
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

// allowExemptions lets tests exempt their namespace from the policy.
func allowExemptions(ctx context.Context) error {
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: PolicyName}}
	return Admin.Patch(ctx, binding, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"`+exemptLabel+`","operator":"DoesNotExist"}]}}}}`)))
}

// WithoutPolicy exempts the namespace from the policy until the test ends.
func (e *Env) WithoutPolicy() {
	e.T.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Name}}
	set := func(ctx context.Context, label string, want bool) {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+exemptLabel+`":`+label+`}}}`))
		if err := errors.Join(Admin.Patch(ctx, namespace, patch), awaitPolicy(ctx, e.Name, want)); err != nil {
			e.T.Error(err)
		}
	}
	e.T.Cleanup(func() { set(context.Background(), "null", validated) })
	set(e.T.Context(), `""`, exempt)
}

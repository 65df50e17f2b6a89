// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

var ownedAllowedFrom = regexp.MustCompile(`"f:allowedFrom":\{"\.":\{\},"f:namespaces":\{\}\},?`)

// disownAllowedFrom makes a resource look as if no client had written allowedFrom in v1alpha2.
func (e *env) disownAllowedFrom(name string) {
	e.T.Helper()
	e.Eventually("allowedFrom has no owner", func() error {
		cr := e.CR(name)
		changed := false
		for i := range cr.ManagedFields {
			fields := cr.ManagedFields[i].FieldsV1
			rest := ownedAllowedFrom.ReplaceAllString(fields.GetRawString(), "")
			changed = changed || rest != fields.GetRawString()
			fields.SetRawString(rest)
		}
		if !changed {
			e.T.Fatalf("managed fields %v", cr.ManagedFields)
		}
		return suite.Admin.Update(e.T.Context(), cr) //nolint:wrapcheck // only logged
	})
}

// Proves: R104, L-20 (a rule that the API server refuses is reported at its field).
func TestEgressIsRestricted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("s", `distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: "http://vllm.models.svc:8000"}}
networking:
  allowedFrom: {namespaces: [gateway], pods: {matchLabels: {app: gateway}}, exclusive: true}
  egress: {mode: Providers, to: [{to: [{ipBlock: {cidr: 192.0.2.0/24}}]}]}`))
	e.WaitReady("s")
	var policy networkingv1.NetworkPolicy
	framework.NoError(t, e.Get(&policy, names.NetworkPolicyName("s")))
	if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Egress) != 3 || policy.Spec.Egress[0].To[0].IPBlock.CIDR != "192.0.2.0/24" {
		t.Errorf("policy %+v", policy.Spec)
	}
	e.PatchSpec("s", `{"networking":{"egress":{"to":[{},{"to":[{"ipBlock":{"cidr":"192.0.2.1"}}]}]}}}`)
	e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.ObjectRejected),
		"spec.networking.egress.to[1].to[0].ipBlock.cidr")
	e.PatchSpec("s", `{"networking":{"egress":null,"allowedFrom":null}}`)
	e.WaitReady("s")
	framework.Eventually(t, framework.Patience, "the NetworkPolicy is gone", func() error {
		if err := e.Get(&policy, names.NetworkPolicyName("s")); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
}

// Proves: R41, R104 (the API server's managed fields tell that a client wrote allowedFrom in v1alpha2).
func TestAllowedFromWrittenInV1alpha2MakesAPolicy(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(oldResource)
	e.disownAllowedFrom("old")
	op := e.StartOperator()
	e.WaitReady("old")
	e.Quiet(op)
	policy := func() error { return e.Get(&networkingv1.NetworkPolicy{}, names.NetworkPolicyName("old")) }
	if err := policy(); !apierrors.IsNotFound(err) {
		t.Errorf("written in v1alpha1 without the feature flag: reading the NetworkPolicy: %v", err)
	}
	e.PatchSpec("old", `{"networking":{"allowedFrom":{"namespaces":["a","b"]}}}`)
	e.Eventually("the NetworkPolicy exists", func() error {
		if err := policy(); err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
}

// Proves: R104 (a server that no pod may call says so, until such a pod is there).
func TestServerWithoutCallersSaysSo(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("s", `distribution: {name: starter}
networking: {allowedFrom: {pods: {matchLabels: {app: gateway}}, exclusive: true}}`))
	e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonNoCallers,
		"no pod in the namespace "+e.Name+" matches spec.networking.allowedFrom.pods: nobody but the operator can reach the server")
	gateway := &corev1.Pod{ObjectMeta: e.Meta("gateway"), Spec: corev1.PodSpec{
		ServiceAccountName: "default",
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: "gateway", Image: "registry.example.com/gateway:1",
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}}
	gateway.Labels = map[string]string{"app": "gateway"}
	e.Put(gateway)
	e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonReady)
}

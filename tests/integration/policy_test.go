// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
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
	return fixture.Poll(ctx, time.Minute, func() error {
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

// Proves: FR-070, FR-071, FR-072, FR-075, US-2.2, US-2.3, R3, R4, R33, R34, L-34 (the API server alone refuses, and what kubectl
// prints has field, problem and fix).
func TestPolicyMessages(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	raw, err := os.ReadFile(filepath.Join(fixture.Root(), "config", "policy", "testdata", "messages.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ Spec, Message string }
	if err := yaml.UnmarshalStrict(raw, &cases); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, c := range cases {
		name := fmt.Sprintf("case-%d", i)
		out, err := e.apply(manifest(name, "distribution: {name: starter}\n"+c.Spec))
		want := "llamastackdistribution.llamastack.io/" + name + " created\n"
		if c.Message != "" {
			refused++
			want = denied(name) + c.Message + "\n"
		}
		if diff := cmp.Diff(want, out); diff != "" || (err != nil) != (c.Message != "") {
			t.Errorf("%s: %v (-want +got):\n%s", c.Spec, err, diff)
		}
	}
	t.Logf("%d of %d refused", refused, len(cases))
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

// The policy is applied twice here, the second time with failurePolicy Fail, so that an expression that cannot be evaluated
// is not passed over.
//
// Proves: FR-070, L-34 (whatever stands in an open field, the answer is not a raw evaluation error).
func TestPolicyNeverFails(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.strictPolicy()
	names := []string{"providers.inference", "providers.telemetry", "resources.models", "resources.tools", "resources.shields", "networking.expose"}
	n := 0
	for _, name := range names {
		section, field, _ := strings.Cut(name, ".")
		for _, odd := range []string{
			"null", "true", "0", "-1", "1.5", `""`, `"x"`, `"a\nb"`, `"@"`, "[]", "[null]", "[[[]]]", "[{}]", "[1, x, null]", "{}", `{"": null}`, `{"": x}`,
			"{provider: {}}", "{provider: [x]}", "{provider: x, id: [y]}", "{provider: x, id: 1, endpoint: {}}", "{provider: x, apiKey: [1]}",
			"{provider: x, apiKey: {name: null, key: []}}", "{provider: x, apiKey: {secretKeyRef: null}}", "{provider: x, apiKey: {secretKeyRef: [{name: n}]}}",
			"{provider: x, secretRefs: [1]}", "{provider: x, secretRefs: {a: null, b: [1], c: {name: {}}}}", `{provider: x, "a\nb": {secretKeyRef: y}}`,
			"[{provider: x}, {provider: null}, {id: y}]", "[{name: {}}, {name: null}, {metadata: 1}, {contextLength: 1.5}, {id: {}}]",
			"{enabled: null}", "{enabled: [1], hostname: {}}", "{hostname: null, x: {}}", `"` + strings.Repeat("y", 5000) + `"`,
		} {
			n++
			spec := fmt.Sprintf("distribution: {name: starter}\n%s: {%s: %s}", section, field, odd)
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(manifest("odd", spec)), u); err != nil {
				t.Fatal(err)
			}
			u.SetNamespace(e.namespace)
			err := admin.Create(t.Context(), u, client.DryRunAll)
			switch {
			case err == nil, strings.Contains(err.Error(), "must be of type"):
			case !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "denied request: spec."):
				t.Errorf("%s: %v", spec, err)
			}
		}
	}
	t.Logf("%d odd shapes", n)
}

// strictPolicy puts a copy of the policy into the namespace of the test that refuses what it cannot evaluate.
func (e *env) strictPolicy() {
	e.t.Helper()
	var p admissionregistrationv1.ValidatingAdmissionPolicy
	if err := admin.Get(e.t.Context(), client.ObjectKey{Name: policyName}, &p); err != nil {
		e.t.Fatal(err)
	}
	strict := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "strict"}, Spec: p.Spec}
	strict.Spec.FailurePolicy = new(admissionregistrationv1.Fail)
	only := metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}}
	strict.Spec.MatchConstraints.NamespaceSelector = &only
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "strict"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "strict", ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	e.withoutPolicy() // so that the copy alone can answer
	for _, o := range []client.Object{strict, binding} {
		if err := admin.Create(e.t.Context(), o); err != nil {
			e.t.Fatal(err)
		}
		e.t.Cleanup(func() { _ = admin.Delete(context.Background(), o) })
	}
	if err := awaitPolicy(e.t.Context(), e.namespace, inForce); err != nil {
		e.t.Fatal(err)
	}
}

// Proves: L-29, R4 (the spec is never defaulted into or rewritten: after an apply nothing differs from the manifest).
func TestSamplesShowNoDiff(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	samples, err := filepath.Glob(filepath.Join(fixture.Root(), "config", "samples", "v1*.yaml"))
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	samples = append(samples, filepath.Join("testdata", "full-objects.yaml"), filepath.Join("testdata", "full-lists.yaml"))
	e.startOperator(operatorOptions{})
	for _, file := range samples {
		if out, err := cluster.KubectlRun(t.Context(), "apply", "-n", e.namespace, "-f", file); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		// kubectl diff ends with an error where there is a difference.
		if out, err := cluster.KubectlRun(t.Context(), "diff", "-n", e.namespace, "-f", file); err != nil || out != "" {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, out)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if out := e.applyAgain(string(raw)); !strings.HasSuffix(strings.TrimSpace(out), " unchanged") {
			t.Errorf("%s: a second apply says %s", filepath.Base(file), out)
		}
	}
}

func (e *env) applyAgain(manifest string) string {
	e.t.Helper()
	out, err := e.apply(manifest)
	if err != nil {
		e.t.Fatal(err)
	}
	return out
}

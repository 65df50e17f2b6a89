// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// nextReady makes a change and returns the condition Ready of the first write of the status that follows.
func (e *env) nextReady(name string, change func()) *metav1.Condition {
	e.T.Helper()
	list := &v1alpha2.LlamaStackDistributionList{}
	framework.NoError(e.T, suite.Admin.List(e.T.Context(), list, client.InNamespace(e.Name)))
	w, err := suite.Admin.Watch(e.T.Context(), &v1alpha2.LlamaStackDistributionList{}, client.InNamespace(e.Name),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	framework.NoError(e.T, err)
	defer w.Stop()
	change()
	deadline := time.After(2 * time.Minute)
	for {
		select {
		case event := <-w.ResultChan():
			cr, ok := event.Object.(*v1alpha2.LlamaStackDistribution)
			if event.Type == watch.Modified && ok && cr.Name == name {
				return meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionReady)
			}
		case <-deadline:
			e.T.Fatalf("the status of %s does not change", name)
		}
	}
}

// Proves: WAIT (kubectl wait cannot succeed by the Ready of before a Secret or ConfigMap changed: the first write of the
// status that follows says what changed, and so does each until the rollout is done).
func TestReadyIsFalseWithTheCauseOnceAReferencedObjectChanges(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.StartOperator()
	e.CreateSecret("token", map[string]string{"token": canary})
	e.CreateSecret("variables", map[string]string{"A": "1"})
	config := func(data map[string]string) func() {
		return func() { e.Put(&corev1.ConfigMap{ObjectMeta: e.Meta("files"), Data: data}) }
	}
	config(map[string]string{"a": "1"})()
	e.Apply(framework.Manifest("s", `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: "http://vllm:8000", apiKey: {secretKeyRef: {name: token, key: token}}}}
workload:
  overrides:
    envFrom: [{secretRef: {name: variables}}, {configMapRef: {name: files}}]
`))
	e.WaitReady("s")
	for _, c := range []struct {
		what, reason string
		change       func()
	}{
		{"the provider's key", v1alpha2.ReasonSecretChanged, func() { e.patchSecret("token", `{"stringData":{"token":"`+rotated+`"}}`) }},
		{"a variable of a Secret", v1alpha2.ReasonSecretChanged, func() { e.patchSecret("variables", `{"stringData":{"A":"2"}}`) }},
		{"a variable of a ConfigMap", v1alpha2.ReasonConfigMapChanged, config(map[string]string{"a": "2"})},
	} {
		e.Quiet(op)
		began := time.Now()
		ready := e.nextReady("s", c.change)
		t.Logf("%s: Ready=%s %s after %s: %s", c.what, ready.Status, ready.Reason, time.Since(began), ready.Message)
		if ready.Status != metav1.ConditionFalse || ready.Reason != c.reason {
			t.Errorf("%s: Ready=%s %s, want False %s: %s", c.what, ready.Status, ready.Reason, c.reason, ready.Message)
		}
		e.WaitReady("s")
	}
}

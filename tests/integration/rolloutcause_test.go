// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// statusAfter makes a change and returns the first status of the writes that follow that is wanted. A watch also sees
// conditions that are gone before a poll reads them.
func (e *env) statusAfter(name string, change func(), wanted func(*v1alpha2.LlamaStackDistributionStatus) bool) *v1alpha2.LlamaStackDistributionStatus {
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
			if event.Type == watch.Modified && ok && cr.Name == name && wanted(&cr.Status) {
				return &cr.Status
			}
		case <-deadline:
			e.T.Fatalf("no status of %s is the wanted one", name)
		}
	}
}

// nextReady makes a change and returns the condition Ready of the first write of the status that follows.
func (e *env) nextReady(name string, change func()) *metav1.Condition {
	e.T.Helper()
	status := e.statusAfter(name, change, func(*v1alpha2.LlamaStackDistributionStatus) bool { return true })
	return meta.FindStatusCondition(status.Conditions, v1alpha2.ConditionReady)
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

// Proves: L-31, UNDO (what kubectl rollout undo puts back goes, also variables and volumes that the spec no longer has,
// and the status names the undo; other clients' variables, annotations and restarts stay).
func TestRolloutUndoIsRevertedAndReported(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.StartOperator()
	e.CreateSecret("keys", map[string]string{"token": canary})
	e.CreateConfigMap("files", map[string]string{"a": "1"})
	e.Apply(framework.Manifest("s", withProvider+`
workload:
  scheduling: {nodeSelector: {disk: fast}}
  overrides:
    env: [{name: MINE, value: "1"}]
    volumes: [{name: files, configMap: {name: files}}]
    volumeMounts: [{name: files, mountPath: /files}]
`))
	e.WaitReady("s")
	e.Kubectl("set", "env", "deployment/s", "FOREIGN=1")
	e.Kubectl("rollout", "restart", "deployment/s")
	e.Quiet(op)
	e.WaitReady("s")
	before := e.Revision("s")
	e.PatchSpec("s", `{"providers":null,"workload":null}`)
	e.WaitReady("s")
	e.Quiet(op)
	want := e.Deployment("s")
	revision := e.Revision("s")
	e.statusAfter("s", func() { e.Kubectl("rollout", "undo", "deployment/s", "--to-revision="+before) },
		func(s *v1alpha2.LlamaStackDistributionStatus) bool {
			updated := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionDeploymentUpdated)
			return updated != nil && updated.Reason == v1alpha2.ReasonUndoReverted &&
				updated.Status == metav1.ConditionFalse && strings.Contains(updated.Message, "edit the custom resource instead")
		})
	e.WaitReady("s")
	e.Quiet(op)
	got := e.Deployment("s")
	if revision == e.Revision("s") {
		t.Errorf("revision %s: the undo had no effect", revision)
	}
	// The inputs of a former template stay unknown if the operator reverts the undo before its rollout is complete.
	for _, key := range []string{"deployment.kubernetes.io/revision", names.AnnotationFormerInputs} {
		delete(want.Annotations, key)
		delete(got.Annotations, key)
	}
	if diff := cmp.Diff(want.Spec, got.Spec); diff != "" {
		t.Errorf("the Deployment (-before the undo +after):\n%s", diff)
	}
	if diff := cmp.Diff(want.Annotations, got.Annotations); diff != "" {
		t.Errorf("annotations (-before the undo +after):\n%s", diff)
	}
	if !slices.ContainsFunc(got.Spec.Template.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "FOREIGN" }) {
		t.Errorf("another client's variable is gone: %v", got.Spec.Template.Spec.Containers[0].Env)
	}
	framework.Eventually(t, framework.Patience, "an Event reports it", func() error {
		if out := e.Kubectl("get", "events.events.k8s.io", "--field-selector=reason=UndoReverted", "-o", "name"); out == "" {
			return errors.New("there is none")
		}
		return nil
	})
}

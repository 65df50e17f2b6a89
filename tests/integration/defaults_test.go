// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// A Secret that only the operator's settings name counts like one that a custom resource names, in each namespace: it is waited for, and each new content
// rolls the pods once, also those of an operator that has just started and has read nothing else.
//
// Proves: R72, L-23, L-02, R20, R7.
func TestSecretOfPodDefaultsRollsOnce(t *testing.T) {
	t.Parallel()
	e := newEnvWithSettings(t)
	e.makeSettings(settings.KeyPodDefaults, "overrides: {envFrom: [{secretRef: {name: team-keys}}]}")
	op := e.startOperator(operatorOptions{})
	e.mustApply(manifest("s", "distribution: {name: starter}"))
	e.mustApply(manifest("own", "distribution: {name: starter}\nworkload: {overrides: {envFrom: [{configMapRef: {name: none, optional: true}}]}}"))
	message := e.waitFor("s", v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.SecretNotFound))
	if want := "operator settings: podDefaults.overrides.envFrom[0].secretRef: Secret not found: team-keys (namespace " + e.namespace + ")"; !strings.Contains(message, want) {
		t.Errorf("message %q, want %q", message, want)
	}
	e.createSecret("team-keys", map[string]string{"TOKEN": canary})
	e.waitReady("s")
	e.waitReady("own")
	if from := e.deployment("s").Spec.Template.Spec.Containers[0].EnvFrom; len(from) != 1 || from[0].SecretRef == nil || from[0].SecretRef.Name != "team-keys" {
		t.Errorf("the container has envFrom %+v", from)
	}
	generation, ownGeneration := e.deployment("s").Generation, e.deployment("own").Generation
	rolls := func(what, value string) {
		e.patchSecret("team-keys", `{"stringData":{"TOKEN":"`+value+`"}}`)
		generation = e.rolledOnce(op, "s", what, generation)
	}
	rolls("a new value", rotated)
	op.stop()
	op = e.startOperator(operatorOptions{})
	e.quiet(op)
	rolls("a new value after a start of the operator", rotated+"-again")
	if got := e.deployment("own").Generation; got != ownGeneration {
		t.Errorf("the pods of a resource with envFrom of its own rolled %d times", got-ownGeneration)
	}
}

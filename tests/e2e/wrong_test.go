// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: EC-2, R20, L-01.
func appearingSecretHeals(t *testing.T) {
	s := sampleStack(t)
	const late = "late-creds"
	sample := load(t, "config", "samples", "v1alpha2-simple.yaml")
	revision := s.in(t).Revision(s.name)
	s.edit(t, sample, map[string]any{"name": late, "key": "token"}, "providers", "inference", "apiKey")
	s.in(t).Within(soon).WaitCondition(s.name, v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.SecretNotFound))
	generation := s.in(t).CR(s.name).Generation
	did(t, "the spec names a Secret that does not exist: Ready is False (SecretNotFound)")

	s.putSecret(t, late, s.secretToken(t, sampleServer+"-key"))
	cr := s.waitReady(t)
	if cr.Generation != generation {
		t.Errorf("generation %d became %d", generation, cr.Generation)
	}
	checkOneRollout(t, s, revision)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "the Secret is created: Ready without another edit, after one rollout, and the key arrives")
}

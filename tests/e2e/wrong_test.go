// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

const (
	missingSecret = "absent-creds"
	numericSecret = "numeric-creds"
)

// Proves: FR-034, FR-073, FR-075, NFR-004, EC-2, R3, R8, R19, R20, R51, L-17.
func wrongEditsLeaveAloneWhatRuns(t *testing.T) {
	s := sampleStack(t)
	sample := load(t, "config", "samples", "v1alpha2-simple.yaml")
	const digits = "90210481516234242"
	canaries.Add(digits)
	s.putSecret(t, numericSecret, digits)
	secretRef := func(name string) map[string]any {
		return map[string]any{"secretKeyRef": map[string]any{"name": name, "key": "token"}}
	}
	before := s.settled(t)
	delete(before, "LlamaStackDistribution")
	for _, refused := range []struct {
		name     string
		field    []string
		value    any
		messages []string
	}{
		{"an unknown key of a provider", []string{"endpont"}, "http://vllm:8000", []string{"spec.providers.inference.endpont", `did you mean "endpoint"?`}},
		{"an endpoint without a scheme", []string{"endpoint"}, "vllm:8000", []string{"spec.providers.inference.endpoint", "http://"}},
		{
			"a list without ids", nil, []any{
				map[string]any{"provider": "vllm", "endpoint": "http://vllm:8000"},
				map[string]any{"provider": "vllm", "endpoint": "http://vllm-fallback:8000"},
			},
			[]string{"spec.providers.inference[0]", "id"},
		},
	} {
		message := s.refuses(t, sample, refused.value, append([]string{"providers", "inference"}, refused.field...)...)
		for _, want := range refused.messages {
			if !strings.Contains(message, want) {
				t.Errorf("%s: the message lacks %q: %s", refused.name, want, message)
			}
		}
		did(t, "%s is refused: %s", refused.name, message)
	}
	for _, wrong := range []struct {
		name     string
		field    []string
		value    any
		kind     string
		reason   string
		messages []string
	}{
		{
			"a Secret that does not exist", []string{"apiKey"}, secretRef(missingSecret),
			v1alpha2.ConditionSecretsResolved, string(problem.SecretNotFound),
			[]string{"Secret not found: " + missingSecret, "namespace " + s.namespace, "spec.providers.inference.apiKey", `the key "token"`},
		},
		{
			"a key that the server would take for a number", []string{"apiKey"}, secretRef(numericSecret),
			v1alpha2.ConditionSecretsResolved, string(problem.InvalidSecret),
			[]string{"spec.providers.inference.apiKey", s.namespace + "/" + numericSecret},
		},
	} {
		s.edit(t, sample, wrong.value, append([]string{"providers", "inference"}, wrong.field...)...)
		message := s.waitCondition(t, soon, wrong.kind, metav1.ConditionFalse, wrong.reason).Message
		for _, want := range wrong.messages {
			if !strings.Contains(message, want) {
				t.Errorf("%s: the message lacks %q: %s", wrong.name, want, message)
			}
		}
		checkStillServes(t, s, before)
		did(t, "%s: %s", wrong.name, message)
	}
	s.chats(t, sampleServer, sampleServer, sampleModel)
	s.kubectl(t, "apply", "-f", samplePath())
	s.waitReady(t)
	checkStillServes(t, s, before)
	did(t, "the server answered all the time, and with the former spec all is well again without a rollout")
}

// checkStillServes fails the test where the status does not say that the former spec still serves, or where something
// that makes it serve was written.
func checkStillServes(t *testing.T, s stack, before map[string]string) {
	t.Helper()
	cr := s.get(t)
	if cr.Status.Phase != v1alpha2.PhaseReady || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionAvailable) {
		t.Errorf("phase %s: %s", cr.Status.Phase, conditions(cr))
	}
	now := s.versions(t)
	delete(now, "LlamaStackDistribution")
	if diff := cmp.Diff(before, now); diff != "" {
		t.Errorf("what runs was written (-before +after):\n%s", diff)
	}
}

// Proves: EC-2, R20, L-01.
func appearingSecretHeals(t *testing.T) {
	s := sampleStack(t)
	const late = "late-creds"
	sample := load(t, "config", "samples", "v1alpha2-simple.yaml")
	revision := s.revision(t)
	s.edit(t, sample, map[string]any{"name": late, "key": "token"}, "providers", "inference", "apiKey")
	s.waitCondition(t, soon, v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.SecretNotFound))
	generation := s.get(t).Generation
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

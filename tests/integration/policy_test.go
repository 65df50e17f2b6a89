// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R57 (changes of labels, status and other fields outside the spec of an old object are always admitted; an
// edit of the spec is validated).
func TestPolicyIgnoresExistingObjects(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	t.Run("an object from before the policy", func(t *testing.T) {
		old := *e
		old.T = t
		old.WithoutPolicy()
		old.Apply(framework.Manifest("old", "distribution: {name: starter}\nproviders: {inference: [{provider: vllm}, {provider: vllm}]}"))
		old.Apply(framework.Manifest(strings.Repeat("a", 60), "distribution: {name: starter}"))
	})
	for _, args := range [][]string{
		{"label", "llsd", "old", "a=b"},
		{"annotate", "llsd", "old", "a=b"},
		{"patch", "llsd", "old", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed"}}`},
		{"patch", "llsd", strings.Repeat("a", 60), "--type=merge", "-p", `{"spec":{"workload":{"replicas":2}}}`},
	} {
		if out, err := e.TryKubectl("", args...); err != nil {
			t.Errorf("%v: %s", args, out)
		}
	}
	out, err := e.TryKubectl("", "patch", "llsd", "old", "--type=merge", "-p", `{"spec":{"workload":{"replicas":2}}}`)
	if err == nil || !strings.Contains(out, "spec.providers.inference[0].id: Required value") {
		t.Errorf("an edit of the spec: %s", out)
	}
}

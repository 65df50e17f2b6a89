// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// The verdict must not speak of an edit where there was none.
func TestVerdictNamesWhatHappened(t *testing.T) {
	conflict := []string{"Stalled=True Conflict: x", "Ready=False Conflict: Service my-stack-service: exists", "ConfigGenerated=True X: y"}
	for want, c := range map[string]struct {
		conditions []string
		applied    bool
	}{
		"nothing was created: an object of this name exists":                                     {append(conflict, "Available=False NotDeployed: z"), false},
		"another object has a name that the server needs; the server runs what was applied last": {append(conflict, "Available=True ServerAvailable: z"), true},
		"the server is available; a rollout that no edit caused is in progress": {
			[]string{"Ready=False SecretChanged: x", "Available=True ServerAvailable: z"}, true,
		},
		"the server is available; the rollout of the last edit is in progress": {
			[]string{"Ready=False RolloutInProgress: x", "Available=True ServerAvailable: z"}, true,
		},
	} {
		cr := stack(t, "my-stack", c.conditions...)
		if !c.applied {
			cr.Status.ResolvedDistribution = nil
		}
		out, _ := run(t, fakecluster.New(t, append(belongings(1), cr)...), "my-stack")
		if first, _, _ := strings.Cut(out, "\n"); !strings.HasSuffix(first, ": "+want) {
			t.Errorf("verdict %q, want %q", first, want)
		}
	}
}

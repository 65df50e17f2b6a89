// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R72, L-23, R20, R7 (objects in the operator's settings are read in the namespace of the custom resource).
func TestGatherReadsObjectsNamedInSettings(t *testing.T) {
	defaults := operatorSettings(map[string]string{
		settings.KeyPodDefaults: "overrides: {envFrom: [{secretRef: {name: keys}}, {configMapRef: {name: perhaps, optional: true}}]}\nimagePullSecrets: [{name: pull}]",
	})
	c := newCluster(t, defaults, newSecret("keys", map[string]string{"TOKEN": canary}), newSecret("one", nil), newSecret("two", nil))
	g := newGatherer(c, c)
	got, _ := g.Gather(t.Context(), resource())
	var read []string
	for _, f := range got.Inputs.PodReferences {
		read = append(read, f.Ref.Path)
	}
	const want = "operator settings: podDefaults.overrides.envFrom[0].secretRef, operator settings: podDefaults.overrides.envFrom[1].configMapRef"
	if text := strings.Join(read, ", "); text != want || string(got.Inputs.PodReferences[0].Values[0].Reveal()) != canary {
		t.Errorf("read %s", text)
	}
	if len(got.Inputs.Spec.Source.Workload.Overrides.EnvFrom) != 2 {
		t.Error("the engine ignores envFrom, and warns of unset variables")
	}

	own := overridden(t) // without envFrom, with other overrides
	got, _ = g.Gather(t.Context(), own)
	if got.Inputs.CR.Spec.Workload.Overrides == own.Spec.Workload.Overrides || len(own.Spec.Workload.Overrides.EnvFrom) != 0 {
		t.Error("the custom resource is changed")
	}
}

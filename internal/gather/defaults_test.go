// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// What the operator's settings name is read in the namespace of the custom resource, and anyone who watches knows it before it is read.
//
// Proves: R72, L-23, R20, R7.
func TestGatherReadsWhatTheSettingsName(t *testing.T) {
	defaults := operatorSettings(map[string]string{
		settings.KeyPodDefaults: "overrides: {envFrom: [{secretRef: {name: keys}}, {configMapRef: {name: perhaps, optional: true}}]}\nimagePullSecrets: [{name: pull}]",
	})
	c := newCluster(t, defaults, newSecret("keys", map[string]string{"TOKEN": canary}), newSecret("one", nil), newSecret("two", nil))
	g := newGatherer(c, c)
	g.Defaults = &gather.Defaults{}
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
		t.Error("the engine does not know that there is envFrom, and warns of variables that nobody sets")
	}
	for _, known := range []string{objects.KindSecret + " keys", objects.KindConfigMap + " perhaps", objects.KindSecret + " pull"} {
		if kind, name, _ := strings.Cut(known, " "); !g.Defaults.Has(kind, name) {
			t.Errorf("a change of the %s is not noticed", known)
		}
	}
	if list := g.Defaults.In("ai"); len(list) != 3 || list[0].Namespace != "ai" || g.Defaults.Has(objects.KindSecret, "perhaps") {
		t.Errorf("known are %+v", list)
	}

	own := overridden(t) // without envFrom of its own, with other overrides
	got, _ = g.Gather(t.Context(), own)
	if got.Inputs.CR.Spec.Workload.Overrides == own.Spec.Workload.Overrides || len(own.Spec.Workload.Overrides.EnvFrom) != 0 {
		t.Error("the custom resource is changed")
	}
}

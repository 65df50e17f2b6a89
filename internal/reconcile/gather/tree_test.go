// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// Proves: L-26 (an undecodable custom resource is decoded as far as possible).
func TestDecode(t *testing.T) {
	const head = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a, namespace: ns, uid: u, generation: 3}\n"
	for name, c := range map[string]struct {
		manifest string
		err      string
		name     string
		phase    v1alpha2.DistributionPhase
	}{
		"good":                         {"spec: {distribution: {name: starter}}\nstatus: {phase: Ready}", "", "starter", "Ready"},
		"without status":               {"spec: {distribution: {name: starter}}", "", "starter", ""},
		"a quantity that is none":      {"spec: {distribution: {name: starter}, workload: {resources: {limits: {memory: 1e1.5}}}}\nstatus: {phase: Ready}", "quantities", "", "Ready"},
		"a number beyond 32 bits":      {"spec: {workload: {podDisruptionBudget: {maxUnavailable: 3000000000}}}\nstatus: {phase: Ready}", "3000000000", "", "Ready"},
		"a status that cannot be read": {"spec: {distribution: {name: starter}}\nstatus: {availableReplicas: x}", "availableReplicas", "", ""},
	} {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(head+c.manifest), &u.Object); err != nil {
			t.Fatal(err)
		}
		checkDecoded(t, name, u, c.err, c.name, c.phase)
		for range 2 { // an informer may transform an object again
			if _, err := gather.Pack(u); err != nil {
				t.Fatal(err)
			}
			checkDecoded(t, name+", packed", u, c.err, c.name, c.phase)
		}
	}
}

func checkDecoded(t *testing.T, name string, u *unstructured.Unstructured, want, distribution string, phase v1alpha2.DistributionPhase) {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	err := gather.Decode(u, cr)
	var undecodable *gather.UndecodableError
	if want == "" && err != nil || want != "" && (!errors.As(err, &undecodable) || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: error %v, want one about %q", name, err, want)
	}
	got := ""
	if cr.Spec.Distribution.Name != nil {
		got = *cr.Spec.Distribution.Name
	}
	if cr.Name != "a" || cr.Generation != 3 || cr.UID != "u" || got != distribution || cr.Status.Phase != phase {
		t.Errorf("%s: %+v", name, cr)
	}
}

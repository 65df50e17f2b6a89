// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
)

// Proves: R45, US-6.1, US-6.3, R20 (the ConfigMap is read live, and in another namespace only if allowed).
func TestOverride(t *testing.T) {
	const foreign = `{"version":1,"origin":"v1alpha1","kept":{"spec.server.userConfig":` +
		`{"was":{"configMapName":"mine","configMapNamespace":"platform"},"if":{"configMapName":"mine"}}}}`
	configMap := func(namespace, key, text string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Data: map[string]string{key: text}}
	}
	ref := func(namespace string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: "mine"}
	}
	consent := func(cm *corev1.ConfigMap, namespaces string) *corev1.ConfigMap {
		cm.Annotations = map[string]string{v1alpha2.AllowFromAnnotation: namespaces}
		return cm
	}
	taken, refused := build.OverrideFact{Ref: ref("platform"), Content: []byte("b")}, build.OverrideFact{Ref: ref("platform"), Lookup: build.Lookup{State: build.NotAllowed}}
	for name, c := range map[string]struct {
		cm         *corev1.ConfigMap
		annotation string
		change     func(*gather.Gatherer)
		want       build.OverrideFact
		reads      int
	}{
		"own":                              {configMap("ai", "config.yaml", "a"), "", nil, build.OverrideFact{Ref: ref("ai"), Content: []byte("a")}, 1},
		"empty":                            {configMap("ai", "config.yaml", ""), "", nil, build.OverrideFact{Ref: ref("ai"), Content: []byte{}}, 1},
		"missing":                          {configMap("platform", "config.yaml", "a"), "", nil, build.OverrideFact{Ref: ref("ai"), Lookup: build.Lookup{State: build.Missing}}, 1},
		"key missing":                      {configMap("ai", "other.yaml", "a"), "", nil, build.OverrideFact{Ref: ref("ai"), Lookup: build.Lookup{State: build.KeyMissing, MissingKeys: []string{"config.yaml"}, ExistingKeys: []string{"other.yaml"}}}, 1},
		"run.yaml alone":                   {configMap("ai", "run.yaml", "a"), "", nil, build.OverrideFact{Ref: ref("ai"), Content: []byte("a"), Key: "run.yaml", Files: map[string][]byte{"run.yaml": []byte("a")}}, 1},
		"foreign with consent":             {consent(configMap("platform", "config.yaml", "b"), "x, ai"), foreign, nil, taken, 1},
		"foreign with consent to all":      {consent(configMap("platform", "config.yaml", "b"), "*"), foreign, nil, taken, 1},
		"foreign with consent to others":   {consent(configMap("platform", "config.yaml", "b"), "x"), foreign, nil, refused, 1},
		"foreign without consent":          {configMap("platform", "config.yaml", "b"), foreign, nil, refused, 1},
		"foreign without consent or key":   {configMap("platform", "run.yaml", "b"), foreign, nil, refused, 1},
		"foreign and missing":              {configMap("ai", "config.yaml", "b"), foreign, nil, refused, 1},
		"foreign, as release 0.9 takes it": {configMap("platform", "config.yaml", "b"), foreign, func(g *gather.Gatherer) { g.AllowForeignConfigMaps = true }, taken, 1},
		"foreign, missing for release 0.9": {configMap("ai", "config.yaml", "b"), foreign, func(g *gather.Gatherer) { g.AllowForeignConfigMaps = true },
			build.OverrideFact{Ref: ref("platform"), Lookup: build.Lookup{State: build.Missing}}, 1},
		"foreign and watched": {consent(configMap("platform", "config.yaml", "b"), "ai"), foreign, func(g *gather.Gatherer) { g.Namespaces = []string{"ai", "platform"} }, taken, 1},
		"foreign and not watched": {consent(configMap("platform", "config.yaml", "b"), "ai"), foreign, func(g *gather.Gatherer) { g.Namespaces = []string{"ai"} },
			build.OverrideFact{Ref: ref("platform"), Lookup: build.Lookup{State: build.NotWatched}}, 0},
		"foreign and forbidden": {consent(configMap("platform", "config.yaml", "b"), "ai"), foreign, func(g *gather.Gatherer) { g.ForbidForeignConfigMaps = true },
			build.OverrideFact{Ref: ref("platform"), Lookup: build.Lookup{State: build.Forbidden}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t, c.cm)
			g := newGatherer(cluster, cluster)
			if c.change != nil {
				c.change(g)
			}
			cr := resource()
			cr.Spec.Providers, cr.Spec.OverrideConfig = nil, &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}
			cr.Annotations = map[string]string{v1alpha2.ConversionAnnotation: c.annotation}
			got, faults := g.Gather(t.Context(), cr)
			if len(faults) > 0 {
				t.Fatal(faults.Message())
			}
			if diff := cmp.Diff(c.want, *got.Inputs.Override); diff != "" {
				t.Errorf("fact (-want +got):\n%s", diff)
			}
			if cluster.reads["ConfigMap/mine"] != c.reads {
				t.Errorf("read %d times, want %d", cluster.reads["ConfigMap/mine"], c.reads)
			}
			cluster.fails["ConfigMap/mine"] = errTimeout
			if _, faults = g.Gather(t.Context(), cr); c.reads > 0 && (len(faults) != 1 || faults[0].Class != problem.Transient || !errors.Is(faults[0].Err, errTimeout)) {
				t.Errorf("a failed question: %v", faults)
			}
		})
	}
}

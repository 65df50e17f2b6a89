// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// fallbackKey is the key that a vLLM provider without an apiKey sends.
const fallbackKey = "fake"

// Proves: US-2.1, FR-004, FR-024, FR-026, FR-034, NFR-005, R9, R17.
func secondProviderRollsOutOnce(t *testing.T) {
	s := sampleStack(t)
	const fallback, fallbackModel = "vllm-fallback", "llama3.2-70b"
	s.startModelServer(t, fallback, fallbackModel, fallbackKey)
	first, revision := s.in(t).CR(s.name).Status.ConfigGeneration.ConfigMapName, s.in(t).Revision(s.name)
	did(t, "a second model server runs")

	two := load(t, "config", "samples", "v1alpha2-multi-provider.yaml")
	edited := load(t, "config", "samples", "v1alpha2-simple.yaml")
	for _, field := range []string{"providers", "resources"} {
		value, _, _ := unstructured.NestedFieldCopy(two.Object, "spec", field)
		framework.NoError(t, unstructured.SetNestedField(edited.Object, value, "spec", field))
	}
	s.in(t).Apply(asJSON(t, edited.Object))
	second := s.waitReady(t).Status.ConfigGeneration.ConfigMapName
	checkOneRollout(t, s, revision)
	if second == first || !slices.Equal(s.configMaps(t), sorted(first, second)) {
		t.Errorf("ConfigMaps %q, want the former %s and a new one, %s", s.configMaps(t), first, second)
	}
	did(t, "providers and models of config/samples/v1alpha2-multi-provider.yaml: one rollout, a new ConfigMap, the former kept")

	for _, want := range []struct{ provider, backend, model string }{
		{"vllm-primary", sampleServer, sampleModel}, {fallback, fallback, fallbackModel},
	} {
		if got := s.provider(t, "inference", want.provider); got.Config["base_url"] != "http://"+want.backend+":8000/v1" {
			t.Errorf("the server lists %+v", got)
		}
		s.chats(t, want.provider, want.backend, want.model)
	}
	did(t, "the server lists both providers, and a chat completion reaches the model server of each")

	// A second edit follows before the first is rolled out, so there are pods of three templates.
	withModels := func(models ...any) {
		framework.NoError(t, unstructured.SetNestedSlice(edited.Object, models, "spec", "resources", "models"))
		s.in(t).Apply(asJSON(t, edited.Object))
	}
	withModels(sampleModel)
	third := s.waitGenerated(t, second)
	withModels(map[string]any{"name": fallbackModel, "provider": fallback})
	fourth := s.waitGenerated(t, third)
	s.waitReady(t, func() {
		checkMountedConfigMapsExist(t, s)
		s.hurryEnding(t)
	})
	if got, want := s.configMaps(t), sorted(third, fourth); !slices.Equal(got, want) {
		t.Errorf("ConfigMaps %q, want %q: the one in use and the one before it", got, want)
	}
	did(t, "two more edits at once: no ConfigMap went while pods mounted it, and then the oldest ones did")
}

// waitGenerated waits until a ConfigMap other than the former is in use, and returns its name.
func (s stack) waitGenerated(t *testing.T, former string) (name string) {
	t.Helper()
	framework.Eventually(t, soon, "another configuration is generated", func() error {
		cr := s.in(t).CR(s.name)
		name = cr.Status.ConfigGeneration.ConfigMapName
		if cr.Status.ObservedGeneration != cr.Generation || name == former {
			return fmt.Errorf("%s: %s", name, conditions(cr))
		}
		return nil
	})
	return name
}

// hurryEnding deletes terminating pods at once: a starting server ignores SIGTERM, and would delay the test by half a
// minute.
func (s stack) hurryEnding(t *testing.T) {
	t.Helper()
	for _, pod := range s.in(t).Pods(s.name) {
		if pod.DeletionTimestamp != nil {
			framework.NoError(t, client.IgnoreNotFound(kube.Delete(t.Context(), &pod, client.GracePeriodSeconds(0))))
		}
	}
}

func sorted(texts ...string) []string { return slices.Sorted(slices.Values(texts)) }

func (s stack) waitRevisionAfter(t *testing.T, since string) {
	t.Helper()
	framework.Eventually(t, soon, "a rollout begins", func() error {
		if s.in(t).Revision(s.name) == since {
			return fmt.Errorf("the Deployment is at revision %s", since)
		}
		return nil
	})
}

func checkOneRollout(t *testing.T, s stack, since string) {
	t.Helper()
	before, err := strconv.Atoi(since)
	framework.NoError(t, err)
	if got, want := s.in(t).Revision(s.name), strconv.Itoa(before+1); got != want {
		t.Errorf("the Deployment is at revision %s, want %s", got, want)
	}
}

// checkMountedConfigMapsExist fails the test if a ReplicaSet with replicas mounts a missing ConfigMap.
func checkMountedConfigMapsExist(t *testing.T, s stack) {
	t.Helper()
	before := s.mountedConfigMaps(t)
	there := s.configMaps(t)
	after := s.mountedConfigMaps(t) // a ReplicaSet in both lists had pods all the time in between
	for replicaSet, mounted := range before {
		if after[replicaSet] == mounted && !slices.Contains(there, mounted) {
			t.Fatalf("ReplicaSet %s has pods and mounts %s, which is gone; there is %q", replicaSet, mounted, there)
		}
	}
}

// mountedConfigMaps returns the ConfigMaps that ReplicaSets with pods mount, by the name of the ReplicaSet.
func (s stack) mountedConfigMaps(t *testing.T) map[string]string {
	t.Helper()
	var list appsv1.ReplicaSetList
	s.in(t).Owned(&list, s.name)
	mounted := map[string]string{}
	for i := range list.Items {
		if rs := &list.Items[i]; rs.Status.Replicas > 0 {
			mounted[rs.Name] = objects.MountedConfigMap(&rs.Spec.Template.Spec)
		}
	}
	return mounted
}

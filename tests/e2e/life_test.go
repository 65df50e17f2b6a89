// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: STAT, R18, R51.
func statusIsTrue(t *testing.T) {
	s := sampleStack(t)
	former := s.pod(t)
	s.in(t).Kubectl("exec", former.Name, "--", "sh", "-c", "kill 1")
	s.in(t).Within(soon).WaitCondition(s.name, v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonServerUnavailable)
	if c := meta.FindStatusCondition(s.in(t).CR(s.name).Status.Conditions, v1alpha2.ConditionReady); c.Status == metav1.ConditionTrue {
		t.Errorf("Ready is %+v although no server is available", c)
	}
	did(t, "the server's process was ended: Available is False")

	s.waitReady(t)
	pod := s.pod(t)
	if pod.UID != former.UID || pod.Status.ContainerStatuses[0].RestartCount != 1 {
		t.Errorf("pod %s with %d restarts, want %s with 1", pod.Name, pod.Status.ContainerStatuses[0].RestartCount, former.Name)
	}
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "it was started again: Available is True, and it answers")
}

// Proves: US-1.3, FR-060, R15, R29.
func distributionAlone(t *testing.T) {
	s := stack{"e2e-plain", "plain"}
	namespace(t, s.namespace)
	before := inventory(t, s.namespace)
	s.in(t).Kubectl("apply", "-f", framework.Root()+"/tests/e2e/testdata/light.yaml")
	cr := s.waitReady(t)
	c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionConfigGenerated)
	if c.Reason != v1alpha2.ReasonImageDefault || cr.Status.ConfigGeneration != nil ||
		cr.Status.ResolvedDistribution.ConfigSource != v1alpha2.ConfigSourceImage {
		t.Errorf("ConfigGenerated is %+v, configGeneration %+v, resolvedDistribution %+v", c, cr.Status.ConfigGeneration, cr.Status.ResolvedDistribution)
	}
	if names := s.configMaps(t); len(names) != 0 {
		t.Errorf("ConfigMaps %q, want none", names)
	}
	ids := []string{}
	for _, p := range s.providers(t) {
		ids = append(ids, p.API+"/"+p.ID)
	}
	slices.Sort(ids)
	want := []string{"batches/reference", "files/builtin-files", "inference/openai", "responses/builtin", "tool_runtime/tavily-search"}
	if !slices.Equal(ids, want) {
		t.Errorf("the server's providers are %q, want those of the image's own configuration: %q", ids, want)
	}
	for _, p := range cr.Status.DistributionConfig.Providers {
		if p.Config != nil {
			t.Errorf("status shows a config of %s/%s, which was not generated", p.API, p.ProviderID)
		}
	}
	did(t, "Ready without a ConfigMap: the server runs the image's own configuration with %d providers", len(ids))

	if url := "http://plain-service.e2e-plain.svc:9321"; cr.Status.ServiceURL != url || !strings.HasSuffix(s.url(t), ":9321") {
		t.Errorf("status.serviceURL is %s, the Service is at %s; want port 9321", cr.Status.ServiceURL, s.url(t))
	}
	if status, _ := call(t, http.MethodGet, "http://"+s.pod(t).Status.PodIP+":9321/v1/health", nil); status != http.StatusOK {
		t.Errorf("port 9321 of the pod answers %d", status)
	}
	did(t, "it serves on port 9321 of spec.networking.port")

	s.in(t).Kubectl("delete", "llsd", s.name)
	framework.Eventually(t, soon, "the namespace is as it was before", func() error {
		if now := inventory(t, s.namespace); !maps.Equal(now, before) {
			return fmt.Errorf("%q is there, %q was", slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(before)))
		}
		return nil
	})
	did(t, "deleted: of all kinds of objects nothing is in the namespace that was not there before")
}

// Proves: FR-025, L-02.
func deletingRemovesEverything(t *testing.T) {
	s := sampleStack(t)
	made := func() (names []string) {
		for name, labels := range inventory(t, s.namespace) {
			if strings.Contains(labels, "app.kubernetes.io/instance="+s.name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	before := made()
	if len(before) < 6 { // ServiceAccount, ConfigMap, Deployment, ReplicaSet, Pod, Service
		t.Fatalf("only %q is there", before)
	}
	s.in(t).Kubectl("delete", "-f", samplePath())
	framework.Eventually(t, soon, "nothing that belonged to "+s.name+" is left", func() error {
		if left := made(); len(left) > 0 {
			return fmt.Errorf("%q is left", left)
		}
		return nil
	})
	if !s.hasSecret(t, sampleSecret) {
		t.Error("the user's Secret is gone")
	}
	did(t, "deleted: its %d objects are gone, the user's Secret is still there", len(before))
}

// inventory returns the labels of all objects of a namespace by kind and name. It omits Events, which outlive their
// objects.
func inventory(t *testing.T, namespace string) map[string]string {
	t.Helper()
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(admin).ServerPreferredNamespacedResources()
	framework.NoError(t, err)
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists)
	found := map[string]string{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		framework.NoError(t, err)
		for i := range list.APIResources {
			if list.APIResources[i].Kind == "Event" {
				continue
			}
			items, err := metadata.NewForConfigOrDie(admin).Resource(gv.WithResource(list.APIResources[i].Name)).
				Namespace(namespace).List(t.Context(), metav1.ListOptions{})
			if apierrors.IsMethodNotSupported(err) {
				continue
			}
			framework.NoError(t, err)
			for j := range items.Items {
				found[list.APIResources[i].Name+"/"+items.Items[j].Name] = metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: items.Items[j].Labels})
			}
		}
	}
	return found
}

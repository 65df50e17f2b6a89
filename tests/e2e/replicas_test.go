// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const replicas = 3

// Proves: R67, R73, FR-060, FR-066 (three replicas on one PostgreSQL: what is made through one pod is read through the others; a pod that is evicted, as
// "kubectl drain" does, loses no request, and the PodDisruptionBudget lets no second one go before the first is replaced).
func replicasShareOneState(t *testing.T) {
	s := stack{"e2e-replicas", sampleName}
	namespace(t, s.namespace)
	key := newKey()
	s.startModelServer(t, sampleServer, sampleModel, key)
	s.putSecret(t, sampleSecret, key)
	database := fixture.StartPostgres(t, cluster.HostAddress)
	password := newKey()
	database.Account(t, "stack", password, "stack")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pg-creds"},
		StringData: map[string]string{"dsn": database.DSN("stack", password, "stack", "sslmode=require")},
	}
	if err := client.IgnoreAlreadyExists(kube.Create(t.Context(), secret)); err != nil {
		t.Fatal(err)
	}
	did(t, "a PostgreSQL runs")

	resource := load(t, "config", "samples", "v1alpha2-simple.yaml")
	shared := load(t, "config", "samples", "v1alpha2-one-postgres.yaml")
	state, _, _ := unstructured.NestedMap(shared.Object, "spec", "storage")
	if err := unstructured.SetNestedMap(resource.Object, state, "spec", "storage"); err != nil {
		t.Fatal(err)
	}
	s.edit(t, resource, int64(replicas), "workload", "replicas")
	s.waitReplicas(t)
	did(t, "three replicas with the storage of config/samples/v1alpha2-one-postgres.yaml are Ready")

	pods := s.pods(t)
	for writer := range pods {
		sharesState(t, pods, writer)
	}
	did(t, "a completion, a conversation and a prompt that are made through each pod are read through the others")

	asked := startTraffic(t, s.url(t))
	if err := evict(t, &pods[0]); err != nil {
		t.Fatal(err)
	}
	if err := evict(t, &pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("while the first pod is not replaced, the eviction of a second one is answered with: %v", err)
	}
	s.waitReplicas(t, pods[0].Name)
	o := asked.end()
	if o.lost > 0 || o.sent < 10 {
		t.Errorf("while a pod was evicted: %s; the first: %v", o, o.first)
	}
	did(t, "one pod is evicted and replaced, and the PodDisruptionBudget refused to let a second one go: %s", o)
	s.kubectl(t, "delete", "llsd", s.name)
}

// waitReplicas waits until the resource is Ready with all replicas, without the pods of the names.
func (s stack) waitReplicas(t *testing.T, without ...string) {
	t.Helper()
	fixture.Eventually(t, 2*serverStart, fmt.Sprintf("%s has %d replicas", s.name, replicas), func() error {
		cr := s.get(t)
		if cr.Status.ObservedGeneration != cr.Generation || cr.Status.AvailableReplicas != replicas || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) {
			return fmt.Errorf("%d are available: %s", cr.Status.AvailableReplicas, conditions(cr))
		}
		pods := s.pods(t)
		if len(pods) != replicas || slices.ContainsFunc(pods, func(p corev1.Pod) bool { return slices.Contains(without, p.Name) }) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
}

// evict asks for a pod to go, as "kubectl drain" does.
func evict(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	return kube.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// sharesState makes things through one pod and finds them through all the others.
func sharesState(t *testing.T, pods []corev1.Pod, writer int) {
	t.Helper()
	base := func(i int) string { return fmt.Sprintf("http://%s/v1", net.JoinHostPort(pods[i].Status.PodIP, "8321")) }
	for _, c := range []struct {
		path, below, id, want string
		body                  map[string]any
	}{
		{"/chat/completions", "", "id", question, map[string]any{
			"model": sampleServer + "/" + sampleModel, "messages": []any{map[string]any{"role": "user", "content": question}},
		}},
		{"/conversations", "/items", "id", "recall", map[string]any{
			"items": []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "recall"}}}},
		}},
		{"/prompts", "", "prompt_id", "Say {{ word }}.", map[string]any{"prompt": "Say {{ word }}.", "variables": []any{"word"}}},
	} {
		fixture.Eventually(t, 2*soon, c.path+" of one pod is read through the others", func() error {
			// A server that has just started may fail to store its first completion: then another one is made.
			status, answer, err := tryCall(t, http.MethodPost, base(writer)+c.path, c.body)
			var made map[string]any
			if err != nil || status != http.StatusOK || json.Unmarshal(answer, &made) != nil || made[c.id] == nil {
				return fmt.Errorf("status %d, %w: %s", status, err, answer)
			}
			for reader := range pods {
				found := func() error {
					status, answer, err := tryCall(t, http.MethodGet, fmt.Sprintf("%s%s/%v%s", base(reader), c.path, made[c.id], c.below), nil)
					if err != nil || status != http.StatusOK || !strings.Contains(string(answer), c.want) {
						return fmt.Errorf("pod %d answers with status %d, %w: %s", reader, status, err, answer)
					}
					return nil
				}
				if err := fixture.Poll(t.Context(), 10*time.Second, found); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const replicas = 3

// Proves: R67, R73, R79, R84, FR-060, FR-066 (scaling from one replica to two leaves the running pod alone, and with
// files in each pod, a warning says which data the replicas do not share; three replicas on one PostgreSQL with the
// vectors read what any of them writes; a pod evicted as by "kubectl drain" loses no request, and the
// PodDisruptionBudget allows no second eviction before it is replaced).
func replicasShareOneState(t *testing.T) {
	s := stack{"e2e-replicas", sampleName}
	s.prepare(t, sampleModel+","+embeddingModel)
	database := framework.StartPostgresWithVectors(t, cluster.HostAddress)
	password := newKey()
	database.Account(t, "stack", password, "stack")
	database.Query(t, "\\connect stack\nCREATE EXTENSION vector;")
	s.in(t).CreateSecret("pg-creds", map[string]string{"dsn": database.DSN("stack", password, "stack", "sslmode=disable"), "password": password})
	did(t, "a PostgreSQL with the extension pgvector runs")

	resource := load(t, "config", "samples", "v1alpha2-simple.yaml")
	scalesUp(t, s, resource)

	shared := load(t, "config", "samples", "v1alpha2-one-postgres.yaml")
	state, _, _ := unstructured.NestedMap(shared.Object, "spec", "storage")
	framework.NoError(t, unstructured.SetNestedMap(resource.Object, state, "spec", "storage"))
	withVectors(t, resource, database)
	s.edit(t, resource, int64(replicas), "workload", "replicas")
	s.waitReplicas(t, replicas)
	did(t, "three replicas with the storage of config/samples/v1alpha2-one-postgres.yaml are Ready")

	pods := s.in(t).Pods(s.name)
	for writer := range pods {
		sharesState(t, pods, writer)
		sharesEntries(t, pods, writer)
	}
	storeOfClientIsUnknownElsewhere(t, pods)
	did(t, "a completion, a conversation, a prompt and an entry of a vector store that are made through each pod are read through the others")

	asked := startTraffic(t, s.url(t))
	framework.NoError(t, evict(t, &pods[0]))
	if err := evict(t, &pods[1]); !apierrors.IsTooManyRequests(err) {
		t.Errorf("while the first pod is not replaced, the eviction of a second one is answered with: %v", err)
	}
	s.waitReplicas(t, replicas, pods[0].Name)
	o := asked.end()
	if o.lost > 0 || o.sent < 10 {
		t.Errorf("while a pod was evicted: %s; the first: %v", o, o.first)
	}
	did(t, "one pod is evicted and replaced, and the PodDisruptionBudget refused to let a second one go: %s", o)
	s.in(t).Kubectl("delete", "llsd", s.name)
}

// scalesUp goes from one replica to two, which keep their state in separate files.
func scalesUp(t *testing.T, s stack, resource *unstructured.Unstructured) {
	t.Helper()
	s.edit(t, resource, int64(1), "workload", "replicas")
	s.waitReplicas(t, 1)
	first, revision := s.pod(t), s.in(t).Revision(s.name)
	s.edit(t, resource, int64(2), "workload", "replicas")
	s.waitReplicas(t, 2)
	pods := s.in(t).Pods(s.name)
	at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.UID == first.UID })
	if at < 0 || pods[at].DeletionTimestamp != nil || pods[at].Status.ContainerStatuses[0].RestartCount > 0 || s.in(t).Revision(s.name) != revision {
		t.Fatalf("the pod %s is touched, revision %s was %s: %+v", first.Name, s.in(t).Revision(s.name), revision, pods)
	}
	did(t, "from one replica to two: the pod that runs is the same, without a restart")

	c := meta.FindStatusCondition(s.in(t).CR(s.name).Status.Conditions, v1alpha2.ConditionConfigGenerated)
	if c == nil || !strings.Contains(c.Message, "warning: spec.workload.replicas: each pod has its own state, which other pods do not have") {
		t.Errorf("ConfigGenerated is %+v", c)
	}
	framework.Eventually(t, 2*serverStart, "a completion of one pod is read through this pod", func() error {
		made, err := makeThrough(t, &pods[0], &completion)
		if err != nil {
			return err
		}
		if err := framework.Poll(t.Context(), 10*time.Second, func() error { return readThrough(t, &pods[0], &completion, made) }); err != nil {
			return err
		}
		if readThrough(t, &pods[1], &completion, made) == nil {
			t.Error("the completion of one pod is found by the other, and the warning says that it is not")
		}
		return nil
	})
	did(t, "a completion through one of them is not found by the other, as the warning says")
}

// waitReplicas waits until the resource is Ready with the number of replicas, and none of the named pods.
func (s stack) waitReplicas(t *testing.T, replicas int32, without ...string) {
	t.Helper()
	framework.Eventually(t, 2*serverStart, fmt.Sprintf("%s has %d replicas", s.name, replicas), func() error {
		cr := s.in(t).CR(s.name)
		if cr.Status.ObservedGeneration != cr.Generation || cr.Status.AvailableReplicas != replicas || !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionReady) {
			return fmt.Errorf("%d are available: %s", cr.Status.AvailableReplicas, conditions(cr))
		}
		pods := s.in(t).Pods(s.name)
		if len(pods) != int(replicas) || slices.ContainsFunc(pods, func(p corev1.Pod) bool { return slices.Contains(without, p.Name) }) {
			return fmt.Errorf("%d pods", len(pods))
		}
		return nil
	})
}

func evict(t *testing.T, pod *corev1.Pod) error {
	t.Helper()
	return kube.SubResource("eviction").Create(t.Context(), pod, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// kept is an object that a server stores: the path of its kind, the subpath of its contents, the field with its id, its
// expected contents, and the request that creates it.
type kept struct {
	path, below, id, want string
	body                  map[string]any
}

var completion = kept{"/chat/completions", "", "id", question, map[string]any{
	"model": sampleServer + "/" + sampleModel, "messages": []any{map[string]any{"role": "user", "content": question}},
}}

// makeThrough creates an object through a pod, and returns its id. A server that has just started may fail to store its
// first completion.
func makeThrough(t *testing.T, pod *corev1.Pod, k *kept) (id any, err error) {
	t.Helper()
	status, answer, err := tryCall(t, http.MethodPost, podURL(pod)+k.path, k.body)
	var made map[string]any
	if err != nil || status != http.StatusOK || json.Unmarshal(answer, &made) != nil || made[k.id] == nil {
		return nil, fmt.Errorf("status %d, %w: %s", status, err, answer)
	}
	return made[k.id], nil
}

// readThrough reads the object through a pod, and returns the pod's response as an error if the pod does not have it.
func readThrough(t *testing.T, pod *corev1.Pod, k *kept, id any) error {
	t.Helper()
	status, answer, err := tryCall(t, http.MethodGet, fmt.Sprintf("%s%s/%v%s", podURL(pod), k.path, id, k.below), nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(answer), k.want) {
		return fmt.Errorf("pod %s answers with status %d, %w: %s", pod.Name, status, err, answer)
	}
	return nil
}

func podURL(pod *corev1.Pod) string {
	return fmt.Sprintf("http://%s/v1", net.JoinHostPort(pod.Status.PodIP, "8321"))
}

// sharesState creates objects through one pod and reads them through all others.
func sharesState(t *testing.T, pods []corev1.Pod, writer int) {
	t.Helper()
	for _, k := range []kept{
		completion,
		{"/conversations", "/items", "id", "recall", map[string]any{
			"items": []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": "recall"}}}},
		}},
		{"/prompts", "", "prompt_id", "Say {{ word }}.", map[string]any{"prompt": "Say {{ word }}.", "variables": []any{"word"}}},
	} {
		framework.Eventually(t, 2*soon, k.path+" of one pod is read through the others", func() error {
			made, err := makeThrough(t, &pods[writer], &k)
			if err != nil {
				return err
			}
			for reader := range pods {
				if err := framework.Poll(t.Context(), 10*time.Second, func() error { return readThrough(t, &pods[reader], &k, made) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// withVectors adds a vector store in the database, and the model that computes its vectors.
func withVectors(t *testing.T, resource *unstructured.Unstructured, database *framework.Postgres) {
	t.Helper()
	models, _, _ := unstructured.NestedSlice(resource.Object, "spec", "resources", "models")
	dimension := int64(modelserverdouble.EmbeddingDimension)
	for _, field := range []struct {
		value any
		path  []string
	}{
		{map[string]any{
			"provider": "pgvector", "endpoint": net.JoinHostPort(database.Host, strconv.Itoa(database.Port)),
			"settings": map[string]any{"db": "stack", "user": "stack"}, "apiKey": map[string]any{"name": "pg-creds", "key": "password"},
		}, []string{"providers", "vectorIo"}},
		{append(models, map[string]any{
			"name": embeddingModel, "provider": sampleServer, "modelType": "embedding", "embeddingDimension": dimension,
		}), []string{"resources", "models"}},
		{[]any{map[string]any{"name": vectorStore, "embeddingModel": embeddingModel}}, []string{"resources", "vectorStores"}},
	} {
		framework.NoError(t, unstructured.SetNestedField(resource.Object, field.value, append([]string{"spec"}, field.path...)...))
	}
}

const (
	vectorStore    = "notes"
	embeddingModel = "embedding"
)

// storeOfClientIsUnknownElsewhere creates a vector store through one pod, which the other pods do not know, because
// they read their list at startup (docs/workload.md).
func storeOfClientIsUnknownElsewhere(t *testing.T, pods []corev1.Pod) {
	t.Helper()
	store := kept{"/vector_stores", "", "id", "of a client", map[string]any{"name": "of a client", "embedding_model": sampleServer + "/" + embeddingModel}}
	made, err := makeThrough(t, &pods[0], &store)
	if err == nil {
		err = readThrough(t, &pods[0], &store, made)
	}
	framework.NoError(t, err)
	if readThrough(t, &pods[1], &store, made) == nil {
		t.Error("another pod knows the vector store, and docs/workload.md says that it does not")
	}
}

// sharesEntries writes an entry of a vector store through one pod and reads it through all pods.
func sharesEntries(t *testing.T, pods []corev1.Pod, writer int) {
	t.Helper()
	text := "written through " + pods[writer].Name
	entry := map[string]any{
		"content": text, "chunk_id": pods[writer].Name, "metadata": map[string]any{}, "chunk_metadata": map[string]any{"document_id": "d"},
		"embedding": modelserverdouble.Embedding(text), "embedding_model": sampleServer + "/" + embeddingModel, "embedding_dimension": modelserverdouble.EmbeddingDimension,
	}
	framework.Eventually(t, 2*soon, "an entry of a vector store is written through "+pods[writer].Name, func() error {
		status, answer, err := tryCall(t, http.MethodPost, podURL(&pods[writer])+"/vector-io/insert", map[string]any{"vector_store_id": vectorStore, "chunks": []any{entry}})
		if err != nil || status >= http.StatusMultipleChoices {
			return fmt.Errorf("status %d, %w: %s", status, err, answer)
		}
		return nil
	})
	for reader := range pods {
		framework.Eventually(t, 2*soon, "the entry is found through "+pods[reader].Name, func() error {
			status, answer, err := tryCall(t, http.MethodPost, podURL(&pods[reader])+"/vector_stores/"+vectorStore+"/search", map[string]any{"query": text})
			if err != nil || status != http.StatusOK || !strings.Contains(string(answer), text) {
				return fmt.Errorf("status %d, %w: %s", status, err, answer)
			}
			return nil
		})
	}
}

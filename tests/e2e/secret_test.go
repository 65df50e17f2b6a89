// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: FR-032, R54, L-23.
func rotatedKeyRollsOutOnce(t *testing.T) {
	s := sampleStack(t)
	revision := s.in(t).Revision(s.name)
	key := newKey()
	s.startModelServer(t, sampleServer, sampleModel, key)
	if status, content := s.chat(t, sampleServer+"/"+sampleModel, "?"); status == http.StatusOK {
		t.Fatalf("the model server still takes the former key: %s", content)
	}
	did(t, "the model server wants another key, and refuses the former one")

	s.putSecret(t, sampleSecret, key)
	s.waitRevisionAfter(t, revision)
	s.waitReady(t)
	checkOneRollout(t, s, revision)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "the Secret has the new key: one rollout, and the new key arrives")
}

func (s stack) secretToken(t *testing.T, name string) string {
	t.Helper()
	var secret corev1.Secret
	framework.NoError(t, kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &secret))
	return string(secret.Data["token"])
}

// Proves: NFR-003, R7, R54.
func secretsAreNowhereElse(t *testing.T) {
	s := sampleStack(t)
	key := s.secretToken(t, sampleSecret)
	if secrets := s.in(t).Kubectl("get", "secrets", "-o", "yaml"); len(canaries.Find(key)) == 0 || len(canaries.Find(secrets)) == 0 {
		t.Fatal("the search does not find the value in the Secret itself, so it proves nothing")
	}
	places := everythingButSecrets(t)
	size := 0
	for place, text := range places {
		size += len(text)
		for _, found := range canaries.Find(text) {
			t.Errorf("%s contains %s", place, found)
		}
	}
	did(t, "%d secret values, in plain, base64, percent-encoded and hashed, were looked for in %d places (%d KiB)",
		canaries.Len(), len(places), size>>10)
}

// everythingButSecrets returns all objects of the cluster except Secrets, the logs of all pods and the operator's
// metrics, by name.
func everythingButSecrets(t *testing.T) map[string]string {
	t.Helper()
	kubectl := in(t, framework.OperatorNamespace).Kubectl
	objects, err := cluster.NonSecretObjects(t.Context())
	framework.NoError(t, err)
	places := map[string]string{
		"an object":            objects,
		"the operator metrics": operatorMetricsText(t),
	}
	var pods corev1.PodList
	framework.NoError(t, kube.List(t.Context(), &pods))
	for i := range pods.Items {
		p := &pods.Items[i]
		places[fmt.Sprintf("the log of pod %s/%s", p.Namespace, p.Name)] = kubectl("-n", p.Namespace, "logs", p.Name, "--all-containers")
	}
	for place, want := range map[string]string{"an object": "my-stack-config-", "the operator metrics": "controller_runtime_reconcile_total"} {
		if !strings.Contains(places[place], want) {
			t.Fatalf("%s: %q is missing, so this is not all", place, want)
		}
	}
	return places
}

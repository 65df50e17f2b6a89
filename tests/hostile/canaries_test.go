// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// useSecrets lets another user's resources use Secrets all the time: as a provider's key and in its settings, as a
// storage password, in a connection string, from which the operator derives a Secret, and as a key that it rejects.
func (w *world) useSecrets(t *testing.T) {
	t.Helper()
	password := w.canaries.New()
	w.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: bystanders, Name: "keys"}, StringData: map[string]string{
		"token": w.canaries.New(), "setting": w.canaries.New(), "redis": w.canaries.New(), "broken": w.canaries.New() + "\n",
		"postgres": w.canaries.Add("postgresql://user:" + url.QueryEscape(password) + "@db:5432/stack?sslmode=require"),
	}})
	keyed := func(key string) string {
		return starter + `,"providers":{"inference":[{"id":"vllm","provider":"vllm","endpoint":"http://vllm:8000","apiKey":{"name":"keys","key":"` + key + `"}},` +
			`{"id":"own","provider":"remote::own","secretRefs":{"token":{"name":"keys","key":"setting"}}}]},` +
			`"storage":{"kv":{"type":"redis","endpoint":"redis:6379","password":{"name":"keys","key":"redis"}},` +
			`"sql":{"type":"postgres","connectionString":{"name":"keys","key":"postgres"}}}`
	}
	for name, spec := range map[string]string{busy: keyed("token"), "refused": keyed("broken")} {
		w.mustStore(t, bystanders, name, spec)
	}
	text, err := w.awaitReason(t.Context(), bystanders, "refused", string(problem.InvalidSecret))
	if err != nil {
		t.Fatal(text, err)
	}
}

// checkSecrets searches the cluster and the operator's logs, one of them at the highest level, for the values of these
// Secrets and of the derived ones.
func (w *world) checkSecrets(t *testing.T, logs []string) {
	t.Helper()
	var secrets corev1.SecretList
	framework.NoError(t, w.admin.List(t.Context(), &secrets, client.InNamespace(bystanders)))
	derived := 0
	for i := range secrets.Items {
		if metav1.GetControllerOf(&secrets.Items[i]) == nil {
			continue
		}
		for _, value := range secrets.Items[i].Data {
			if text := string(value); strings.Contains(text, "canary") {
				w.canaries.Add(text)
				derived++
			}
		}
	}
	objects, err := cluster.NonSecretObjects(t.Context())
	framework.NoError(t, err)
	places := map[string]string{"an object": objects}
	var printed []byte
	for i, log := range logs {
		printed, err = os.ReadFile(log)
		framework.NoError(t, err)
		places["log "+strconv.Itoa(i)] = string(printed)
	}
	if derived == 0 || !bytes.Contains(printed, []byte(`"level":"Level(-`)) {
		t.Errorf("%d values were derived of Secrets, or nothing that only a high log level prints was printed", derived)
	}
	for place, text := range places {
		for _, found := range w.canaries.Find(text) {
			t.Errorf("%s contains %s", place, found)
		}
	}
}

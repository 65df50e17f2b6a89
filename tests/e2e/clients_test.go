// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// clientsTimeout bounds all requests of the clients together.
	clientsTimeout = 5 * time.Minute

	absent    = "no such API" // in the client
	guard     = "llama-guard"
	guardBy   = "llama-guard-3"
	embedding = "all-minilm-l6-v2"
)

// doneByClients has the expected result of each client call; empty means "ok".
var doneByClients = []struct{ thing, openai, own string }{
	{thing: "chat"},
	{thing: "streaming"},
	{thing: "responses"},
	{thing: "conversations"},
	{thing: "files"},
	{thing: "vector store"},
	{thing: "prompts", openai: absent},
	{thing: "moderation"},
}

// withoutSafety are the rows that differ from OGX 1.0 on, which has no safety API and no moderation routes.
var withoutSafety = map[string]string{"openai\tmoderation": "status 404", "ogx-client\tmoderation": absent}

// clientsOfUsersWork calls every API that this server has with the clients that users have.
//
// Proves: FR-001, FR-030, FR-050, R18, R23, R81, US-1.1 (a server that the operator makes from a registered base works
// with real clients).
func clientsOfUsersWork(t *testing.T) {
	s, key := stack{"e2e-clients", "clients"}, newKey()
	namespace(t, s.namespace)
	s.startModelServer(t, sampleServer, strings.Join([]string{sampleModel, guardBy, embedding}, ","), key)
	s.putSecret(t, sampleSecret, key)
	registerDocuments(t)
	resource := load(t, "tests", "e2e", "testdata", "clients.yaml")
	own, want := "llama-stack-client", map[string]string{}
	if registered == &newest {
		own, want = "ogx-client", withoutSafety
		s.in(t).Apply(asJSON(t, resource.Object))
	} else {
		s.edit(t, resource, []any{map[string]any{"id": guard, "provider": guard, "model": sampleServer + "/" + guardBy}}, "resources", "shields")
	}
	s.waitServer(t, registered.version)
	s.waitReachable(t)
	did(t, "a server with files, a vector store and models that chat, embed and judge is Ready")

	began, all := time.Now(), map[string]string{}
	for _, row := range doneByClients {
		for client, result := range map[string]string{"openai": row.openai, own: row.own} {
			if result == "" {
				result = "ok"
			}
			if other, differs := want[client+"\t"+row.thing]; differs {
				result = other
			}
			all[client+"\t"+row.thing] = result
		}
	}
	python := framework.Output(t, pythonTimeout, nil, "./clients.sh", registered.version)
	// The server creates its tables on first use, and fails concurrent requests, so the calls are retried.
	framework.Eventually(t, clientsTimeout, "clients get what they ask for", func() error {
		if diff := cmp.Diff(all, s.useClients(t, python)); diff != "" {
			return fmt.Errorf("the clients (-want +got):\n%s", diff)
		}
		return nil
	})
	did(t, "the clients openai and %s did %d things in %.0f s", own, len(all), time.Since(began).Seconds())
	s.in(t).Kubectl("delete", "llsd", s.name)
}

// useClients runs the clients, and returns the result of each call by client and call.
func (s stack) useClients(t *testing.T, python string) map[string]string {
	t.Helper()
	out := framework.Output(t, clientsTimeout, []string{"PATH=" + os.Getenv("PATH"), "NO_PROXY=*"}, python, "-W", "ignore", "testdata/clients.py",
		s.url(t), sampleServer+"/"+sampleModel, sampleServer+"/"+embedding, strconv.Itoa(modelserverdouble.EmbeddingDimension), sampleServer+"/"+guardBy)
	results := map[string]string{}
	for line := range strings.Lines(out) {
		if i := strings.LastIndex(line, "\t"); i > 0 {
			results[line[:i]] = strings.TrimSpace(line[i+1:])
		}
	}
	return results
}

// registerDocuments registers the name documents for the samples' release, with its base for documents, until the test
// ends.
func registerDocuments(t *testing.T) {
	t.Helper()
	root := framework.Root()
	base := framework.Output(t, soon, nil, "sed", "-f", filepath.Join(root, "hack", "serverimage", "documents.sed"), filepath.Join(root, registered.base))
	cm := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: "documents", Labels: map[string]string{"llamastack.io/distribution": "documents"}},
		Data:       map[string]string{"image": registered.ref, "serverVersion": registered.version, "config.yaml": base},
	}
	in(t, framework.OperatorNamespace).Apply(asJSON(t, cm))
	t.Cleanup(func() {
		if err := kube.Delete(context.WithoutCancel(t.Context()), cm); err != nil {
			t.Error(err)
		}
	})
}

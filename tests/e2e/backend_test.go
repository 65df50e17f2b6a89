// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Names in config/samples/v1alpha2-simple.yaml.
const (
	sampleName   = "my-stack"
	sampleModel  = "llama3.2-8b"
	sampleSecret = "vllm-creds"
	sampleServer = "vllm" // the Service of the model server, and the id of the provider
)

// canaries are the secret values that the tests have put into Secrets.
var canaries framework.Canaries

func newKey() string { return canaries.New() }

// putSecret creates or replaces a Secret with a token, and records the token as a canary.
func (s stack) putSecret(t *testing.T, name, token string) {
	t.Helper()
	s.in(t).Put(&corev1.Secret{ObjectMeta: s.in(t).Meta(name), Data: map[string][]byte{"token": []byte(token)}})
}

func (s stack) hasSecret(t *testing.T, name string) bool {
	t.Helper()
	err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &corev1.Secret{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// startModelServer starts a fake model server that requires the key, and waits until it listens. A running one is
// restarted, because a real model server reads its key only when it starts.
func (s stack) startModelServer(t *testing.T, name, model, key string) {
	t.Helper()
	s.putSecret(t, name+"-key", key)
	text := framework.ReadFile(t, filepath.Join(framework.Root(), "tests", "e2e", "testdata", "model-server.yaml"))
	manifest := strings.NewReplacer("{{NAME}}", name, "{{MODEL}}", model, "{{IMAGE}}", modelServerImage).Replace(string(text))
	if strings.Contains(s.in(t).Apply(manifest), "deployment.apps/"+name+" unchanged") {
		s.in(t).Kubectl("rollout", "restart", "deployment/"+name)
	}
	s.in(t).Kubectl("rollout", "status", "deployment/"+name, "--timeout=90s")
}

// prepare creates the namespace with the sample's model server and Secret.
func (s stack) prepare(t *testing.T, models string) {
	t.Helper()
	namespace(t, s.namespace)
	key := newKey()
	s.startModelServer(t, sampleServer, models, key)
	s.putSecret(t, sampleSecret, key)
}

// sampleStack returns the sample as it is shipped, and creates it if needed.
func sampleStack(t *testing.T) stack {
	t.Helper()
	s := stack{"e2e", sampleName}
	namespace(t, s.namespace)
	if !s.hasSecret(t, sampleSecret) {
		s.prepare(t, sampleModel)
	}
	s.in(t).Kubectl("apply", "-f", samplePath())
	s.waitTaken(t)
	s.waitReady(t)
	return s
}

func samplePath() string {
	return filepath.Join(framework.Root(), "config", "samples", "v1alpha2-simple.yaml")
}

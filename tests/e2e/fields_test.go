// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// keyOfBase is what the base configuration gives a model server for which nobody names a Secret.
const keyOfBase = "fake"

// The samples of the other fields of the spec run unchanged, too: who may call, with tokens of this cluster, and which APIs are not served.
//
// Proves: FR-009, R83 (on a node: a token of the cluster is asked of its API server; without one, nothing is answered).
func samplesOfOtherFieldsRun(t *testing.T) {
	s := stack{"e2e-fields", "auth-stack"}
	namespace(t, s.namespace)
	s.startModelServer(t, sampleServer, sampleModel, keyOfBase)

	s.kubectl(t, "apply", "-f", filepath.Join(fixture.Root(), "config", "samples", "v1alpha2-auth.yaml"))
	s.waitCondition(t, serverStart, v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonReady)
	fixture.Eventually(t, soon, "the Service leads to the server", func() error {
		status, _, err := tryCall(t, http.MethodGet, s.url(t)+"/v1/health", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	token := strings.TrimSpace(s.kubectl(t, "create", "token", "default"))
	for who, c := range map[string]struct {
		by   *http.Client
		want int
	}{
		"nobody":              {web, http.StatusUnauthorized},
		"a wrong token":       {&http.Client{Timeout: web.Timeout, Transport: withToken(token + "x")}, http.StatusUnauthorized},
		"a token of this one": {&http.Client{Timeout: web.Timeout, Transport: withToken(token)}, http.StatusOK},
	} {
		status, answer, err := tryCallBy(t, c.by, http.MethodPost, s.url(t)+"/v1/chat/completions", map[string]any{
			"model": sampleServer + "/" + sampleModel, "messages": []any{map[string]any{"role": "user", "content": question}},
		})
		right := strings.Contains(string(answer), modelserverdouble.Answer(sampleModel, question))
		if err != nil || status != c.want || right != (c.want == http.StatusOK) {
			t.Errorf("%s: status %d, want %d, %v: %s", who, status, c.want, err, strings.ReplaceAll(string(answer), token, "(token)"))
		}
	}
	s.kubectl(t, "delete", "llsd", s.name)
	did(t, "config/samples/v1alpha2-auth.yaml is applied unchanged: a chat completion with a token of the cluster, none without it or with a wrong one")

	s.name = "disabled"
	s.kubectl(t, "apply", "-f", filepath.Join(fixture.Root(), "config", "samples", "v1alpha2-disabled.yaml"))
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	for _, p := range s.providers(t) {
		if p.API == "batches" || p.API == "eval" || p.API == "scoring" {
			t.Errorf("the server has the provider %s/%s of an API that is disabled", p.API, p.ID)
		}
	}
	if status, _ := call(t, http.MethodGet, s.url(t)+"/v1/batches", nil); status != http.StatusNotFound {
		t.Errorf("/v1/batches answers %d", status)
	}
	s.kubectl(t, "delete", "llsd", s.name)
	did(t, "config/samples/v1alpha2-disabled.yaml is applied unchanged: a chat completion, and no API that it disables")
}

// withToken sends a token with each request.
type withToken string

// RoundTrip adds the header to a copy of the request.
func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := r.Clone(r.Context())
	sent.Header.Set("Authorization", "Bearer "+string(token))
	return web.Transport.RoundTrip(sent)
}

// deviceIsWaitedFor applies the sample of devices to a running server, in a cluster without a driver: the new pod waits, the status reports why, and the
// old pod serves.
//
// Proves: R72.
func deviceIsWaitedFor(t *testing.T, s stack) {
	t.Helper()
	for _, name := range []string{"resource-claim-template.yaml", "v1alpha2-devices.yaml"} {
		s.kubectl(t, "apply", "-f", filepath.Join(fixture.Root(), "config", "samples", name))
	}
	fixture.Eventually(t, soon, "the status reports that there is no device", func() error {
		for _, c := range s.get(t).Status.Conditions {
			if c.Type == v1alpha2.ConditionReady && strings.Contains(c.Message, "Unschedulable") && strings.Contains(c.Message, "1 old pod still serves") {
				return nil
			}
		}
		return errors.New(conditions(s.get(t)))
	})
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "config/samples/v1alpha2-devices.yaml is applied unchanged: without a driver of devices the new pod is Unschedulable, and the old one serves")
}

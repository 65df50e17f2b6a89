// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// keyOfBase is the key of a model server without a Secret in the base configuration.
const keyOfBase = "fake"

// Proves: FR-009.
func samplesOfOtherFieldsRun(t *testing.T) {
	s := stack{"e2e-fields", "disabled"}
	namespace(t, s.namespace)
	s.startModelServer(t, sampleServer, sampleModel, keyOfBase)
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-disabled.yaml"))
	s.waitReady(t)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	for _, p := range s.providers(t) {
		if p.API == "batches" || p.API == "interactions" {
			t.Errorf("the server has the provider %s/%s of an API that is disabled", p.API, p.ID)
		}
	}
	if status, _ := call(t, http.MethodGet, s.url(t)+"/v1/batches", nil); status != http.StatusNotFound {
		t.Errorf("/v1/batches answers %d", status)
	}
	s.in(t).Kubectl("delete", "llsd", s.name)
	did(t, "config/samples/v1alpha2-disabled.yaml is applied unchanged: a chat completion, and no API that it disables")
}

// deviceIsWaitedFor applies the sample of devices in a cluster without a driver: the new pod is pending, the status
// reports why, and the old pod serves.
//
// Proves: R72.
func deviceIsWaitedFor(t *testing.T, s stack) {
	t.Helper()
	for _, name := range []string{"resource-claim-template.yaml", "v1alpha2-devices.yaml"} {
		s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", name))
	}
	framework.Eventually(t, soon, "the status reports that there is no device", func() error {
		for _, c := range s.in(t).CR(s.name).Status.Conditions {
			if c.Type == v1alpha2.ConditionReady && strings.Contains(c.Message, "Unschedulable") && strings.Contains(c.Message, "1 old pod still serves") {
				return nil
			}
		}
		return errors.New(conditions(s.in(t).CR(s.name)))
	})
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "config/samples/v1alpha2-devices.yaml is applied unchanged: without a driver of devices the new pod is Unschedulable, and the old one serves")
}

// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: IT-5, FR-010, FR-011, FR-064, FR-065, US-5.1, US-5.2, R61, R62 (on a node: a chat completion over HTTPS at the
// host name of the Ingress and of the HTTPRoute, by a real ingress controller and Gateway; the status has the URL once
// the object is admitted).
func exposedServerIsReached(t *testing.T) {
	s := sampleStack(t)
	revision := s.in(t).Revision(s.name)
	s.in(t).Kubectl("apply", "-f", filepath.Join(framework.Root(), "config", "samples", "v1alpha2-allowed-from.yaml"))
	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":{"expose":true}}}`)
	ca := framework.NewCA(t)
	proxy := s.reachedThroughIngress(t, ca)
	did(t, "config/samples/v1alpha2-allowed-from.yaml is applied unchanged, then exposed: a chat over HTTPS at the host name of its Ingress, through Contour")
	s.reachedThroughGateway(t, ca, proxy)
	did(t, "the operator's setting names a Gateway instead: a chat over HTTPS at the host name of its HTTPRoute, through Contour")
	setEdge(t, edgeSetting)

	s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":null}}`)
	s.in(t).Kubectl("apply", "-f", samplePath())
	s.waitReady(t)
	if got := s.in(t).Revision(s.name); got != revision {
		t.Errorf("revision %s, before it was exposed %s: who may reach a server is not in its pods", got, revision)
	}
	did(t, "nothing of this restarted the server")
}

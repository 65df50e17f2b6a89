// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// What config/samples/v1alpha2-allowed-from.yaml lets in: a namespace by its name, and those with a label.
const (
	allowedByName = "notebooks"
	allowedLabel  = "example.com/uses-llama-stack"
	stranger      = "strangers"
)

// Proves: FR-010, FR-011, FR-064, FR-065, US-5.1, US-5.2, R61, R62 (on a node: a chat over HTTPS at the host name of the Ingress, and of the HTTPRoute, by a real
// ingress controller and Gateway; the URL is there once it has admitted the object. Of the pods in other namespaces, those reach the server whom its NetworkPolicy lets in.)
func exposedServerIsReached(t *testing.T) {
	s := sampleStack(t)
	revision := s.revision(t)
	s.kubectl(t, "apply", "-f", filepath.Join(fixture.Root(), "config", "samples", "v1alpha2-allowed-from.yaml"))
	s.kubectl(t, "patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":{"expose":true}}}`)
	ca := fixture.NewCA(t)
	proxy := s.reachedThroughIngress(t, ca)
	did(t, "config/samples/v1alpha2-allowed-from.yaml is applied unchanged, then exposed: a chat over HTTPS at the host name of its Ingress, through Contour")
	s.reachedThroughGateway(t, ca, proxy)
	did(t, "the operator's setting names a Gateway instead: a chat over HTTPS at the host name of its HTTPRoute, through Contour")
	setEdge(t, edgeSetting)

	clients := []string{allowedByName, edgeNamespace, stranger}
	startClients(t, clients...)
	defer endClients(t, clients...)
	for _, from := range clients {
		if !s.reaches(t, from) {
			t.Errorf("a pod in %s does not reach the server, and nobody enforces policies", from)
		}
	}
	defer endNetworkPolicyDouble(t)
	for _, c := range []struct {
		change func()
		want   map[string]bool
	}{
		{func() {}, map[string]bool{allowedByName: true, edgeNamespace: true, stranger: false}},
		{func() {
			s.kubectl(t, "label", "namespace", stranger, allowedLabel+"=")
		}, map[string]bool{allowedByName: true, edgeNamespace: true, stranger: true}},
		{func() { s.edits(t, `{"expose":false}`, "the namespace "+edgeNamespace, edgeNamespace) }, map[string]bool{allowedByName: true, edgeNamespace: false}},
		{func() {
			s.edits(t, `{"allowedFrom":{"namespaces":null}}`, "the namespace "+allowedByName, allowedByName)
		}, map[string]bool{allowedByName: false, stranger: true}},
	} {
		c.change()
		networkPolicyDouble(t, s)
		for from, want := range c.want {
			if got := s.reaches(t, from); got != want {
				t.Errorf("a pod in %s reaches the server: %t, want %t", from, got, want)
			}
		}
	}
	endNetworkPolicyDouble(t) // before the machine asks again
	did(t, "with the rules of its NetworkPolicy in the node's network: pods of allowed namespaces reach it, others do not, forwarders only while it is exposed")

	s.kubectl(t, "patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":null}}`)
	s.kubectl(t, "apply", "-f", samplePath())
	s.waitReady(t)
	if got := s.revision(t); got != revision {
		t.Errorf("revision %s, before it was exposed %s: who may reach a server is not in its pods", got, revision)
	}
	did(t, "nothing of this restarted the server")
}

// edits changes spec.networking, and waits until the NetworkPolicy no longer has a text.
func (s stack) edits(t *testing.T, patch, what, text string) {
	t.Helper()
	s.kubectl(t, "patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"networking":`+patch+`}}`)
	fixture.Eventually(t, soon, "the NetworkPolicy is without "+what, func() error {
		if policy := s.kubectl(t, "get", "networkpolicy", s.name+"-network-policy", "-o", "jsonpath={.spec}"); strings.Contains(policy, text) {
			return fmt.Errorf("it is %s", policy)
		}
		return nil
	})
}

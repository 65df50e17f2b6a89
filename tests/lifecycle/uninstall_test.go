// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: L-25, R57 (after deleting the operator's namespace first, and with it the webhooks, users can still use and
// delete resources and their namespaces, remove the rest, and install it again).
func TestNamespaceOfTheOperatorIsDeletedFirst(t *testing.T) {
	t.Parallel()
	s := installed(t)
	r := s.startReplica(replicaOptions{})
	s.serve(r)
	s.awaitValidation()
	s.Kubectl("create", "namespace", "leaving")
	for _, name := range []string{"a", "b"} {
		s.Apply(spoke(name, ""))
		s.Apply(strings.Replace(spoke(name, ""), `"default"`, `"leaving"`, 1))
	}
	r.end()
	<-r.done
	s.service.Remove(r.server.Address().String())
	s.Kubectl("delete", "namespace", framework.OperatorNamespace, "--timeout=60s")

	s.Kubectl("patch", "llsd", "a", "-n", "default", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
	s.Apply(hub("c", ""))
	s.Kubectl("delete", "llsd", "b", "-n", "default", "--timeout=60s")
	s.Kubectl("delete", "namespace", "leaving", "--timeout=60s")
	manifest := filepath.Join(framework.Root(), "dist", "install.yaml")
	s.Kubectl("delete", "-f", manifest, "--ignore-not-found", "--timeout=90s")
	kinds := "crds,clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
	if left := s.Kubectl("get", kinds, "-o", "name"); strings.Contains(left, "llama") {
		t.Errorf("left is\n%s", left)
	}

	s.install()
	s.serve(s.startReplica(replicaOptions{}))
	s.Eventually("the API server uses the new CA certificate", func() error {
		_, err := s.TryApply(spoke("again", ""))
		return err
	})
	s.wantFields("v1alpha2", "again", map[string]any{"spec.distribution.name": "starter"})
}

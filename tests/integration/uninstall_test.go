// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: L-25, R57 (who removes the operator's namespace first, and with it the webhooks, can still use and remove resources, namespaces with
// resources and the rest, and install it again).
func TestNamespaceOfTheOperatorGoesFirst(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	s.install()
	r := s.start(replicaOptions{})
	s.serve(r)
	s.awaitValidation()
	s.kubectl("create", "namespace", "leaving")
	for _, name := range []string{"a", "b"} {
		s.apply(spoke(name, ""))
		s.apply(strings.Replace(spoke(name, ""), `"default"`, `"leaving"`, 1))
	}
	r.end()
	<-r.done
	s.service.Remove(r.server.Address().String())
	s.kubectl("delete", "namespace", operatorNamespace, "--timeout=60s")

	s.kubectl("patch", "llsd", "a", "-n", "default", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
	s.apply(hub("c", ""))
	s.kubectl("delete", "llsd", "b", "-n", "default", "--timeout=60s")
	s.kubectl("delete", "namespace", "leaving", "--timeout=60s")
	manifest := filepath.Join(framework.Root(), "dist", "install.yaml")
	s.kubectl("delete", "-f", manifest, "--ignore-not-found", "--timeout=90s")
	kinds := "crds,clusterroles,clusterrolebindings,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
	if left := s.kubectl("get", kinds, "-o", "name"); strings.Contains(left, "llama") {
		t.Errorf("left is\n%s", left)
	}

	s.install()
	s.serve(s.start(replicaOptions{}))
	framework.Eventually(t, time.Minute, "the API server has heard of the new CA certificate", func() error {
		_, err := s.cluster.KubectlInput(t.Context(), spoke("again", ""), "apply", "-f", "-")
		return err
	})
	s.wantFields("v1alpha2", "again", map[string]any{"spec.distribution.name": "starter"})
}

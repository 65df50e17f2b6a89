// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// oldCRD is a CRD of this name that has stored v1alpha1 objects, as release 0.9 leaves it.
const oldCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: llamastackdistributions.llamastack.io}
spec:
  group: llamastack.io
  names: {kind: LlamaStackDistribution, listKind: LlamaStackDistributionList, plural: llamastackdistributions, singular: llamastackdistribution, shortNames: [llsd]}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// manager builds the operator's program once for all tests.
var manager = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(suite.Cluster.Dir, "manager")
	return binary, framework.GoBuild(context.Background(), binary, "./cmd/manager")
})

func buildManager(t testing.TB) string {
	t.Helper()
	binary, err := manager()
	framework.NoError(t, err)
	return binary
}

// run starts the program with the operator's permissions, as its Deployment does.
func (s *controlPlane) run(binary string, args ...string) *framework.Process {
	s.T.Helper()
	return s.runAs(binary, s.operatorKubeconfig(), args...)
}

func (s *controlPlane) operatorKubeconfig() string {
	s.T.Helper()
	file, err := s.Cluster.OperatorKubeconfig()
	framework.NoError(s.T, err)
	return file
}

func (s *controlPlane) runAs(binary, kubeconfig string, args ...string) *framework.Process {
	s.T.Helper()
	return framework.StartProcess(s.T, framework.ProcessOptions{
		Binary: binary, Kubeconfig: kubeconfig, Env: s.env, Inherit: true, Metrics: framework.FreeAddress(s.T), Canaries: &suite.Canaries,
		Args: append([]string{"--leader-elect", "--operator-namespace=" + framework.OperatorNamespace}, args...),
	})
}

// start runs the program until it is ready, and adds it to the endpoints of the webhooks' Service.
func (s *controlPlane) start(binary string, args ...string) *framework.Process {
	s.T.Helper()
	p := s.run(binary, args...)
	p.WaitReady(s.T)
	s.service.Add(p.Webhook)
	return p
}

// storageIn returns a patch of the CRD that makes the version the stored one.
func (s *controlPlane) storageIn(version string) string {
	s.T.Helper()
	var patch []string
	for i, name := range strings.Fields(s.Kubectl("get", framework.CRD, "-o", "jsonpath={.spec.versions[*].name}")) {
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%v}`, i, name == version))
	}
	return "[" + strings.Join(patch, ",") + "]"
}

// Proves: US-7.1, L-25, L-27, L-29, MIG-SVM, FR-081, R21 (installed over release 0.9 with objects stored as v1alpha1;
// the webhooks work before the caches are filled, which need them; all replicas serve webhooks, one reconciles).
func TestInstallOverV09(t *testing.T) {
	s := newControlPlane(t)
	s.Apply(oldCRD)
	s.established(framework.CRD)
	s.Apply(spoke("kept", `,"containerSpec":{"name":"main","port":8400,"env":[{"name":"A","value":"1"}]}`))
	for _, namespace := range []string{"leaving", "stuck"} {
		s.Kubectl("create", "namespace", namespace)
		s.Apply(strings.Replace(spoke("gone", ""), `"default"`, strconv.Quote(namespace), 1))
	}
	s.install()
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main", "spec.server.containerSpec.port": 8400})
	if _, err := s.tryVersion("v1alpha2", "kept"); err == nil {
		t.Error("it is read as v1alpha2 before conversion works: the checks below would prove nothing")
	}

	// Without an operator, this allows deleting objects that are stored as v1alpha1.
	s.Kubectl("patch", framework.CRD, "--type=merge", "-p", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	s.Kubectl("delete", "namespace", "stuck", "--timeout=60s")
	s.Kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	s.redirect()

	s.Kubectl("delete", "namespace", "leaving", "--wait=false")
	binary := buildManager(t)
	first, second := s.run(binary), s.run(binary)
	for _, p := range []*framework.Process{first, second} {
		s.service.Add(p.Webhook)
		p.WaitReady(t)
	}
	s.Eventually("the stored object is reconciled", s.reconciled("v1alpha1", "kept"))
	s.wantFields("v1alpha2", "kept", map[string]any{"spec.networking.port": 8400, "spec.workload.overrides.env": "[map[name:A value:1]]"})
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main"})
	s.Kubectl("wait", "--for=delete", "namespace/leaving", "--timeout=60s")

	s.Eventually("everything is stored in the current version", s.stores(`["v1alpha2"]`))
	// Once no v1alpha1 object is stored, applying the CRD again, as GitOps does, keeps it working.
	s.Kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	s.redirect()
	s.Eventually("the operator injects its CA bundle once more", func() error {
		_, err := s.tryVersion("v1alpha1", "kept")
		return err
	})
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main", "spec.server.containerSpec.port": 8400})

	// The CRD is replaced by one that stores v1alpha1, and restored: the operator works without a restart.
	for _, storage := range []string{"v1alpha1", "v1alpha2"} {
		s.Kubectl("patch", framework.CRD, "--type=json", "-p", s.storageIn(storage))
		s.Kubectl("annotate", "llamastackdistributions.v1alpha2.llamastack.io", "kept", "stored-in="+storage, "--overwrite")
	}
	s.Eventually("everything is stored in the current version once more", s.stores(`["v1alpha2"]`))

	reads := framework.StartLoad(t, framework.DefaultLoadInterval, s.readsConverted("kept"))
	for _, p := range []*framework.Process{first, second} {
		s.start(binary)
		time.AfterFunc(time.Second, func() { s.service.Remove(p.Webhook) })
		p.Terminate(t)
	}
	reads.Check(t, "conversions while both processes were replaced")
	s.Apply(spoke("late", ""))
	s.Eventually("one of them leads", s.reconciled("v1alpha2", "late"))
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// oldCRD is a CRD of this name that has stored v1alpha1 objects, as the v0.9 operator leaves it.
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

// process is the operator's program, run by this test.
type process struct {
	cmd     *exec.Cmd
	health  string
	webhook string
	metrics string
	log     *safeBuffer
	ended   chan struct{}
	err     error
}

// manager is the operator's program, which is built once for all tests.
var manager = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(cluster.Dir, "manager")
	return binary, goBuild(context.Background(), binary, "./cmd/manager")
})

// goBuild builds a program of this module, into the file or directory, without what only debuggers read: linking takes less time.
func goBuild(ctx context.Context, output, program string, variables ...string) error {
	flags := "-s -w"
	for _, v := range variables {
		flags += " -X " + v
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", output, "-ldflags", flags, program)
	build.Dir = framework.Root()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// buildManager builds the operator's program, unless another test has built it already.
func buildManager(t *testing.T) string {
	t.Helper()
	binary, err := manager()
	framework.NoError(t, err)
	return binary
}

// run starts the program with the operator's own permissions, as its Deployment does.
func (s *serving) run(binary string, args ...string) *process {
	s.t.Helper()
	return s.runAs(binary, s.operatorKubeconfig(), args...)
}

// operatorKubeconfig is a file with the operator's own permissions.
func (s *serving) operatorKubeconfig() string {
	s.t.Helper()
	if _, err := s.cluster.ServiceAccountConfig(operatorNamespace, operatorServiceAccount); err != nil {
		s.t.Fatal(err)
	}
	return filepath.Join(s.cluster.Dir, operatorNamespace+"."+operatorServiceAccount+".kubeconfig")
}

func (s *serving) runAs(binary, kubeconfig string, args ...string) *process {
	s.t.Helper()
	p := &process{
		health: framework.FreeAddress(s.t), webhook: framework.FreeAddress(s.t), metrics: framework.FreeAddress(s.t),
		log: &safeBuffer{}, ended: make(chan struct{}),
	}
	p.cmd = exec.CommandContext(context.Background(), binary, append([]string{
		"--leader-elect", "--metrics-bind-address=" + p.metrics, "--operator-namespace=" + operatorNamespace,
		"--health-probe-bind-address=" + p.health, "--webhook-bind-address=" + p.webhook,
	}, args...)...)
	p.cmd.Env = slices.Concat(os.Environ(), s.env, []string{"KUBECONFIG=" + kubeconfig})
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	framework.NoError(s.t, p.cmd.Start())
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // where it has not ended by itself
		<-p.ended
		for _, found := range canaries.Find(p.log.String()) {
			s.t.Errorf("the operator printed %s", found)
		}
		if s.t.Failed() {
			s.t.Logf("the operator printed:\n%s", p.log)
		}
	})
	return p
}

// ready asks the readiness probe. It is hopeless once the process has ended.
func (p *process) ready() error {
	select {
	case <-p.ended:
		lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
		return framework.Terminal(fmt.Errorf("the operator ended, %s, and printed last: %s", p.cmd.ProcessState, lines[len(lines)-1]))
	default:
		return framework.ProbeReadiness(p.health)
	}
}

// terminate ends it as a kubelet does, and waits for it.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	framework.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		t.Fatal("it did not end")
	}
	if p.err != nil {
		t.Errorf("it ended with %v", p.err)
	}
}

// storageIn is a patch of the CRD that makes the version the stored one.
func (s *serving) storageIn(version string) string {
	s.t.Helper()
	var patch []string
	for i, name := range strings.Fields(s.kubectl("get", crdName, "-o", "jsonpath={.spec.versions[*].name}")) {
		patch = append(patch, fmt.Sprintf(`{"op":"replace","path":"/spec/versions/%d/storage","value":%v}`, i, name == version))
	}
	return "[" + strings.Join(patch, ",") + "]"
}

// Proves: US-7.1, L-25, L-27, L-29, MIG-SVM, FR-081, R21 (installed over release 0.9, whose objects are stored as v1alpha1; its webhooks work before
// its caches are filled, which need them; any replica serves, one reconciles).
func TestInstallOverV09(t *testing.T) {
	s := newServing(t)
	s.apply(oldCRD)
	s.established(crdName)
	s.apply(spoke("kept", `,"containerSpec":{"name":"main","port":8400,"env":[{"name":"A","value":"1"}]}`))
	for _, namespace := range []string{"leaving", "stuck"} {
		s.kubectl("create", "namespace", namespace)
		s.apply(strings.Replace(spoke("gone", ""), `"default"`, strconv.Quote(namespace), 1))
	}
	s.install()
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main", "spec.server.containerSpec.port": 8400})
	if _, err := s.get("v1alpha2", "kept"); err == nil {
		t.Error("it is read as v1alpha2 although nobody converts yet: nothing below shows anything")
	}

	// Without an operator for good, this lets go of what is stored as v1alpha1.
	s.kubectl("patch", crdName, "--type=merge", "-p", `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)
	s.kubectl("delete", "namespace", "stuck", "--timeout=60s")
	s.kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	s.redirect()

	s.kubectl("delete", "namespace", "leaving", "--wait=false")
	binary := buildManager(t)
	first, second := s.run(binary), s.run(binary)
	for _, p := range []*process{first, second} {
		s.service.Add(p.webhook)
		framework.Eventually(t, installTimeout, "the replica is ready", p.ready)
	}
	framework.Eventually(t, time.Minute, "the stored object is looked after", func() error {
		u, err := s.get("v1alpha1", "kept")
		if err == nil && field(u, "status.observedGeneration") == nil {
			err = errors.New("it has no status")
		}
		return err
	})
	s.wantFields("v1alpha2", "kept", map[string]any{"spec.networking.port": 8400, "spec.workload.overrides.env": "[map[name:A value:1]]"})
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main"})
	s.kubectl("wait", "--for=delete", "namespace/leaving", "--timeout=60s")

	framework.Eventually(t, time.Minute, "everything is stored in the current version", func() error {
		if stored := s.kubectl("get", crdName, "-o", "jsonpath={.status.storedVersions}"); strings.TrimSpace(stored) != `["v1alpha2"]` {
			return fmt.Errorf("stored are %s", stored)
		}
		return nil
	})
	// Without v1alpha1 stored, and applied again as GitOps does, the CRD works on.
	s.kubectl("apply", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"))
	s.redirect()
	framework.Eventually(t, time.Minute, "the operator injects its CA bundle once more", func() error {
		_, err := s.get("v1alpha1", "kept")
		return err
	})
	s.wantFields("v1alpha1", "kept", map[string]any{"spec.server.containerSpec.name": "main", "spec.server.containerSpec.port": 8400})

	// Someone puts back a definition that stores v1alpha1, and then this one again: the operator need not be restarted.
	for _, storage := range []string{"v1alpha1", "v1alpha2"} {
		s.kubectl("patch", crdName, "--type=json", "-p", s.storageIn(storage))
		s.kubectl("annotate", "llamastackdistributions.v1alpha2.llamastack.io", "kept", "stored-in="+storage, "--overwrite")
	}
	framework.Eventually(t, time.Minute, "everything is stored in the current version once more", func() error {
		if stored := s.kubectl("get", crdName, "-o", "jsonpath={.status.storedVersions}"); strings.TrimSpace(stored) != `["v1alpha2"]` {
			return fmt.Errorf("stored are %s", stored)
		}
		return nil
	})

	reads := framework.StartLoad(t, framework.DefaultLoadInterval, s.readsConverted("kept"))
	for _, p := range []*process{first, second} {
		next := s.run(binary)
		framework.Eventually(t, installTimeout, "the next replica is ready", next.ready)
		s.service.Add(next.webhook)
		time.AfterFunc(time.Second, func() { s.service.Remove(p.webhook) })
		p.terminate(t)
	}
	reads.Check(t, "conversions while both processes were replaced")
	s.apply(spoke("late", ""))
	framework.Eventually(t, time.Minute, "one of them leads", func() error {
		u, err := s.get("v1alpha2", "late")
		if err == nil && field(u, "status.observedGeneration") == nil {
			err = errors.New("nobody looks after new objects")
		}
		return err
	})
}

// startProgram runs the operator's program until it is ready.
func (s *serving) startProgram(binary string, args ...string) *process {
	s.t.Helper()
	p := s.run(binary, args...)
	s.service.Add(p.webhook)
	framework.Eventually(s.t, installTimeout, "the operator is ready", p.ready)
	return p
}

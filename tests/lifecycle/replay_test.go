// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: IT-7, R21, R48, R56, R69, R77, R78, R89, US-7.1, L-04, L-25, L-28 (the objects that a real release 0.9 made for 22
// custom resources are adopted without a rollout, and a second upgrade changes nothing; an edit of each custom resource
// is one rollout, without a Service that loses its last endpoint; the pods differ from those of release 0.9 only in
// reviewed differences; unset fields are removed; a ConfigMap of another namespace is used).
func TestReplayOfRelease09IsAdopted(t *testing.T) {
	t.Parallel()
	s := newControlPlane(t)
	r := s.replay()
	before, oldPods := r.states(), r.pods()
	s.install()
	binary := buildManager(t)
	operator := s.start(binary)
	r.allAdopted()
	unchanged := func() error {
		if diff := cmp.Diff(before, r.states(), cmp.AllowUnexported(state{})); diff != "" {
			return fmt.Errorf("Deployments (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(oldPods, r.pods()); diff != "" {
			return fmt.Errorf("pods (-before +after):\n%s", diff)
		}
		return r.endpointsStay()
	}
	framework.Consistently(t, 5*time.Second, "nothing is rolled out by the adoption", unchanged)

	// Neither a restart nor another build writes.
	for _, next := range []string{binary, otherBuild(t)} {
		r.stop(operator)
		versions := r.versions()
		operator = s.start(next)
		framework.Consistently(t, 8*time.Second, "objects after a restart", func() error {
			if diff := cmp.Diff(versions, r.versions()); diff != "" {
				return fmt.Errorf("written were (-before +after):\n%s", diff)
			}
			return nil
		})
	}
	if err := unchanged(); err != nil {
		t.Error(err)
	}

	// While no new pod becomes ready, the old ones serve, except for Deployments that recreate their pods because of a
	// volume.
	r.kubelet.Hold(func(pod *corev1.Pod) bool { return !oldPods[pod.Name] })
	r.editAll()
	r.allApplied()
	framework.Consistently(t, 5*time.Second, "endpoints while the rollout is held", r.endpointsStay)
	r.kubelet.Hold(func(*corev1.Pod) bool { return false })
	if rolled, want := r.upgraded(before), len(before)-2; rolled != want { // two are left alone
		t.Errorf("%d Deployments have rolled, want %d", rolled, want)
	}
	if err := r.endpointsStay(); err != nil {
		t.Error(err)
	}
	for _, name := range r.rollingServices() {
		if r.endpoints.RoutedToTerminating(name) {
			t.Errorf("the Service %s led to a pod of release 0.9 when that was told to end", name)
		}
	}
	r.checkTemplates()

	s.Kubectl("patch", v1alpha1Kind, "everything", "-n", "own", "--type=json", "-p", `[
		{"op":"remove","path":"/spec/server/containerSpec/env"},{"op":"remove","path":"/spec/server/containerSpec/resources"},
		{"op":"remove","path":"/spec/server/podOverrides/volumes"},{"op":"remove","path":"/spec/server/podOverrides/volumeMounts"},
		{"op":"remove","path":"/spec/server/podOverrides/terminationGracePeriodSeconds"},{"op":"remove","path":"/spec/server/topologySpreadConstraints"}]`)
	s.Eventually("what is unset is gone", func() error {
		text := fmt.Sprint(meaning(framework.Tree(t, r.deployment(r.one("everything")).Spec.Template)))
		for _, was := range []string{"VLLM_URL", "VLLM_API_TOKEN", "/scratch", "/extra", "memory:4Gi", "rack", "terminationGracePeriodSeconds:90"} {
			if strings.Contains(text, was) {
				return fmt.Errorf("%s is still there", was)
			}
		}
		return nil
	})

	// The operator watches the ConfigMaps of other namespaces, and uses them while their owners allow it.
	foreign := r.one("other-ns")
	revision := r.revision(foreign)
	s.Kubectl("annotate", "configmap", "shared-conf", "-n", "shared", "llamastack.io/allow-from-")
	r.explained(foreign, string(problem.ConfigMapNotFound))
	s.Kubectl("annotate", "configmap", "shared-conf", "-n", "shared", "llamastack.io/allow-from=other,own")
	s.Kubectl("patch", "configmap", "shared-conf", "-n", "shared", "--type=merge", "-p", `{"data":{"config.yaml":"version: 2\nimage_name: edited\n"}}`)
	s.Eventually("an edit in the other namespace rolls out", func() error {
		if now := r.revision(foreign); now != revision+1 {
			return fmt.Errorf("revision %d, want %d", now, revision+1)
		}
		return nil
	})
}

func otherBuild(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "manager")
	framework.NoError(t, framework.GoBuild(t.Context(), binary, "./cmd/manager", "github.com/llamastack/llama-stack-k8s-operator/internal/version.commit=other"))
	return binary
}

func (r *replayed) pods() map[string]bool {
	r.T.Helper()
	names := map[string]bool{}
	for _, namespace := range []string{"own", "names", "odh"} {
		for name := range strings.FieldsSeq(r.Kubectl("get", "pods", "-n", namespace, "-o", "jsonpath={.items[*].metadata.name}")) {
			names[name] = true
		}
	}
	return names
}

// endpointsStay returns an error if a Service whose Deployment keeps old pods until new ones are ready has lost its
// last endpoint.
func (r *replayed) endpointsStay() error {
	for _, name := range r.rollingServices() {
		if emptied, now := r.endpoints.BecameEmpty(name), r.endpoints.Ready(name); emptied || now == 0 {
			return fmt.Errorf("the Service %s had no endpoints for a while: %v, and has %d; the node is %s", name, emptied, now, r.node())
		}
	}
	return nil
}

// rollingServices returns the Services, with their namespaces, whose Deployment keeps old pods until new ones are
// ready.
func (r *replayed) rollingServices() (names []string) {
	r.T.Helper()
	for _, one := range r.recorded {
		d, service := one.Object("Deployment"), one.Object("Service")
		if d == nil || service == nil || field(d, "spec.strategy.type") == string(appsv1.RecreateDeploymentStrategyType) || *r.deployment(one).Spec.Replicas == 0 {
			continue
		}
		names = append(names, key(one).Namespace+"/"+service.GetName())
	}
	return names
}

// node returns the Ready status of the node, which explains pods that are not ready.
func (r *replayed) node() string {
	r.T.Helper()
	return r.Kubectl("get", "nodes", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
}

// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/shard"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// runNamed starts the operator's program under another file name, which identifies it in the audit log.
func (s *controlPlane) runNamed(name string, args ...string) *framework.Process {
	s.T.Helper()
	binary := filepath.Join(s.T.TempDir(), name)
	framework.NoError(s.T, os.Symlink(buildManager(s.T), binary))
	p := s.run(binary, args...)
	p.WaitReady(s.T)
	return p
}

// writers returns the operator's programs that have written in the namespace since a time.
func (s *controlPlane) writers(namespace string, since time.Time) []string {
	s.T.Helper()
	requests, err := s.Cluster.Requests()
	framework.NoError(s.T, err)
	var names []string
	for i := range requests {
		r := &requests[i]
		reads := slices.Contains([]string{"get", "list", "watch"}, r.Verb)
		if r.Namespace == namespace && !reads && r.Received.After(since) && strings.HasSuffix(r.User, ":"+framework.OperatorName) {
			program, _, _ := strings.Cut(r.UserAgent, "/")
			names = append(names, program)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// settles waits until there has been no write in the namespace for a while, because the rollout is reported after the
// edit is applied.
func (s *controlPlane) settles(namespace string) {
	s.T.Helper()
	s.Eventually("the operators have reported everything", func() error {
		if wrote := s.writers(namespace, time.Now().Add(-4*time.Second)); len(wrote) > 0 {
			return fmt.Errorf("%q wrote", wrote)
		}
		return nil
	})
}

// running returns the objects that must stay when a custom resource moves: its Service, pods and ReplicaSets, which
// show a change of the template.
func (s *controlPlane) running(namespace string) string {
	return s.Kubectl("get", "service,replicaset,pod", "-n", namespace, "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}\n{end}")
}

// edit allows another namespace, which changes no pod, and waits until it is applied.
func (s *controlPlane) edit(namespace, letIn string) {
	s.T.Helper()
	s.Kubectl("patch", "llsd", "s", "-n", namespace, "--type=merge", "-p", `{"spec":{"networking":{"allowedFrom":{"namespaces":["`+letIn+`"]}}}}`)
	s.waitAvailable(namespace)
	if out := s.Kubectl("get", "networkpolicy", "s-network-policy", "-n", namespace, "-o", "yaml"); !strings.Contains(out, letIn) {
		s.T.Errorf("the edit is not in the NetworkPolicy: %s", out)
	}
}

// Two shards divide the custom resources by a label, and start when the former operator has stopped. A custom resource
// that moves keeps its pods and is written only by its new shard; each shard knows the host names of the other's custom
// resources.
//
// Proves: R56, R62, R71, L-34, R21.
func TestShardsDivideTheCustomResources(t *testing.T) {
	t.Parallel()
	const stays, moves = "first", "second"
	s := installed(t)
	before := s.runNamed("before")
	s.service.Add(before.Webhook)
	for _, namespace := range []string{stays, moves} { // if both have the same second, the name decides which is older
		s.Kubectl("create", "namespace", namespace)
		framework.StartFakeKubelet(t, s.Client, namespace)
		s.Apply(framework.Manifest("s", "distribution: {name: starter}\nnetworking: {expose: {hostname: "+namespace+".example}}"), "-n", namespace)
		s.waitAvailable(namespace)
	}

	selectors := map[string]string{"rest": "shard notin (a)", "a": "shard=a"}
	rest := s.runNamed("rest", "--watch-label-selector="+selectors["rest"])
	s.service.Add(rest.Webhook)
	a := s.runNamed("a", "--watch-label-selector="+selectors["a"], "--webhook-bind-address=0")
	for _, p := range []*framework.Process{rest, a} {
		s.Eventually("a shard waits", func() error {
			if !strings.Contains(p.Text(), "waiting for an operator without --watch-label-selector to end") {
				return errors.New("it does not")
			}
			return nil
		})
	}
	s.service.Remove(before.Webhook)
	before.Terminate(t)
	for name, text := range selectors {
		selector, err := shard.Parse(text)
		framework.NoError(t, err)
		s.Eventually(name+" leads", func() error {
			_, err := s.Cluster.KubectlRun(t.Context(), "get", "lease", shard.Lease(selector), "-n", framework.OperatorNamespace)
			return err
		})
	}
	s.edit(stays, "one")

	for _, move := range []struct{ label, to string }{{"shard=a", "a"}, {"shard-", "rest"}} {
		s.settles(moves)
		running, began := s.running(moves), time.Now()
		s.Kubectl("label", "llsd", "s", "-n", moves, move.label)
		framework.Consistently(t, 3*time.Second, "the move writes nothing", func() error {
			if wrote := s.writers(moves, began); len(wrote) > 0 {
				return fmt.Errorf("%q wrote", wrote)
			}
			return nil
		})
		s.edit(moves, "of-"+move.to)
		if now := s.running(moves); now != running {
			t.Errorf("the move to %s changed what runs, from\n%s\nto\n%s", move.to, running, now)
		}
		if wrote := s.writers(moves, began); !slices.Equal(wrote, []string{move.to}) {
			t.Errorf("after the move to %s, %q wrote", move.to, wrote)
		}
	}

	s.Kubectl("label", "llsd", "s", "-n", moves, "shard=a")
	s.Kubectl("patch", "llsd", "s", "-n", moves, "--type=merge", "-p", `{"spec":{"networking":{"expose":{"hostname":"`+stays+`.example"}}}}`)
	s.Eventually("the use of the other shard is known", func() error {
		if status := s.Kubectl("get", "llsd", "s", "-n", moves, "-o", "jsonpath={.status.conditions}"); !strings.Contains(status, stays+"/s") {
			return fmt.Errorf("conditions %s", status)
		}
		return nil
	})
	if out := s.Kubectl("get", v1alpha1Kind, "s", "-n", moves, "-o", "jsonpath={.apiVersion}"); out != "llamastack.io/v1alpha1" {
		t.Errorf("read as v1alpha1: %s", out)
	}
	for _, p := range []*framework.Process{a, rest} {
		p.Terminate(t)
	}
}

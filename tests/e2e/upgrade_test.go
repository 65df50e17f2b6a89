// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	crd = "crd/llamastackdistributions.llamastack.io"
	// storeV1alpha1 makes the CRD store v1alpha1 without conversion, as that of release 0.9 does.
	storeV1alpha1 = `[
		{"op": "test", "path": "/spec/versions/0/name", "value": "v1alpha1"},
		{"op": "replace", "path": "/spec/versions/0/storage", "value": true},
		{"op": "test", "path": "/spec/versions/1/name", "value": "v1alpha2"},
		{"op": "replace", "path": "/spec/versions/1/storage", "value": false},
		{"op": "replace", "path": "/spec/conversion", "value": {"strategy": "None"}}
	]`
)

// A simulated cluster of release 0.9: no operator, a CRD that stores v1alpha1, and two custom resources with the
// objects that release 0.9 makes and real servers. One server has its data on a PVC, the other has its own
// configuration and no PVC; both get requests while dist/install.yaml is applied.
//
// Proves: R21, R22, R27, R48, R89, L-25, L-28, L-06, US-7.1, FR-080 (an upgrade from release 0.9 keeps objects and pods
// and loses no request; the first edit is one rollout, and the server keeps its data; stored objects are migrated).
func release09IsTakenOver(t *testing.T) {
	s, plain := stack{"e2e-upgrade", "old"}, stack{"e2e-upgrade-plain", "plain"}
	namespace(t, plain.namespace)
	s.prepare(t, sampleModel)
	t.Cleanup(func() {
		if t.Failed() { // the next parts need the operator
			if err := installOperator(context.Background()); err != nil {
				t.Log(err)
			}
		}
	})
	scaleOperator(t, 0)
	s.in(t).Kubectl("patch", crd, "--type=json", "-p", storeV1alpha1)
	resource := load(t, "tests", "e2e", "testdata", "release-0.9-resource.yaml")
	framework.Eventually(t, soon, "the API server stores v1alpha1", func() error {
		// Until then, the API server calls the missing operator for conversion.
		_, err := cluster.KubectlInput(t.Context(), asJSON(t, resource.Object), "-n", s.namespace, "apply", "-f", "-")
		return err
	})
	if stored := s.storedVersions(t); !slices.Contains(stored, "v1alpha1") {
		t.Fatalf("stored versions %q", stored)
	}
	plain.in(t).Kubectl("create", "configmap", "plain-config", "--from-file=config.yaml="+filepath.Join(framework.Root(), pinned.base))
	plainResource := load(t, "tests", "e2e", "testdata", "release-0.9-plain-resource.yaml")
	plain.in(t).Apply(asJSON(t, plainResource.Object))
	s.runByRelease09(t, "release-0.9-objects.yaml")
	plain.runByRelease09(t, "release-0.9-plain.yaml")
	s.waitCompletions(t, 0)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	s.waitCompletions(t, 1)
	dataDir := "/.llama/distributions/light"
	s.in(t).Kubectl("exec", s.pod(t).Name, "--", "test", "-f", dataDir+"/sql_store.db")
	before, revision, claim, pod := s.inPlace(t), s.in(t).Revision(s.name), s.claim(t), s.pod(t).Name
	plainBefore, plainRevision, plainPod := plain.inPlace(t), plain.in(t).Revision(plain.name), plain.pod(t).Name
	did(t, "two servers as release 0.9 runs them, without an operator: a completion is stored in %s on the claim of one", dataDir)

	asked, plainAsked := startTraffic(t, serviceURL(t, s.namespace, s.name+"-service")), startTraffic(t, serviceURL(t, plain.namespace, plain.name+"-service"))
	framework.NoError(t, installOperator(t.Context()))
	framework.Eventually(t, soon, "what is stored as v1alpha1 is read as v1alpha2", func() error {
		// The webhooks' Service reaches the operator's pod a moment after the pod is ready.
		return kube.Get(t.Context(), s.key(), &v1alpha2.LlamaStackDistribution{})
	})
	s.waitServer(t, pinned.version)
	plain.waitServer(t, pinned.version)
	if s.in(t).Revision(s.name) != revision || plain.in(t).Revision(plain.name) != plainRevision || s.pod(t).Name != pod || plain.pod(t).Name != plainPod {
		t.Errorf("the upgrade has rolled out: revisions %s and %s, pods %s and %s", s.in(t).Revision(s.name), plain.in(t).Revision(plain.name), s.pod(t).Name, plain.pod(t).Name)
	}
	for _, o := range []outcome{asked.end(), plainAsked.end()} {
		if o.lost > 0 || o.sent < 20 {
			t.Errorf("while the operator was upgraded: %s; the first: %v", o, o.first)
		}
	}
	did(t, "dist/install.yaml is applied: Ready with the same pods, and no request of that time is lost")

	asked, plainAsked = startTraffic(t, serviceURL(t, s.namespace, s.name+"-service")), startTraffic(t, serviceURL(t, plain.namespace, plain.name+"-service"))
	const budget = "podDisruptionBudget" // a field that does not change the pods
	s.edit(t, resource, map[string]any{"maxUnavailable": int64(1)}, "server", budget)
	plain.edit(t, plainResource, map[string]any{"maxUnavailable": int64(1)}, "server", budget)
	s.waitRevisionAfter(t, revision)
	plain.waitRevisionAfter(t, plainRevision)
	s.waitServer(t, pinned.version)
	checkOneRollout(t, s, revision)
	before.dataDir = dataDir
	if now := s.inPlace(t); !now.keeps(before) || s.claim(t) != claim {
		t.Errorf("the stack is %+v now, and was %+v; its claim %s was %s", now, before, s.claim(t), claim)
	}
	s.waitCompletions(t, 1)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "the first edit: Ready after one rollout of the same objects, the completion is still there, and a new one goes through")

	plain.waitServer(t, pinned.version)
	checkOneRollout(t, plain, plainRevision)
	if now := plain.inPlace(t); now.deployment != plainBefore.deployment || now.service != plainBefore.service || now.clusterIP != plainBefore.clusterIP {
		t.Errorf("the stack is %+v now, and was %+v", now, plainBefore)
	}
	withClaim, withoutClaim := asked.end(), plainAsked.end()
	if withoutClaim.lost > 0 || withoutClaim.sent < 100 {
		t.Errorf("without a claim: %s; the first: %v", withoutClaim, withoutClaim.first)
	}
	if withClaim.lost == withClaim.sent || withClaim.gap > serverStart {
		t.Errorf("with a claim: %s; the first: %v", withClaim, withClaim.first)
	}
	did(t, "asked every 100 ms while that went on: without a claim %s; with a claim %s", withoutClaim, withClaim)

	plainRevision, plainAsked = plain.in(t).Revision(plain.name), startTraffic(t, serviceURL(t, plain.namespace, plain.name+"-service"))
	plain.edit(t, plainResource, []any{map[string]any{"name": "EDITED", "value": "yes"}}, "server", "containerSpec", "env")
	plain.waitRevisionAfter(t, plainRevision)
	plain.waitServer(t, pinned.version)
	if o := plainAsked.end(); o.lost > 0 || o.sent < 20 {
		t.Errorf("an edit: %s; the first: %v", o, o.first)
	}
	did(t, "another edit rolls out, and none of the requests of that time is lost")

	err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name + "-rb"}, &rbacv1.RoleBinding{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the RoleBinding for anyuid: %v", err)
	}
	framework.Eventually(t, soon, "nothing is stored as v1alpha1", func() error {
		if stored := s.storedVersions(t); !slices.Equal(stored, []string{"v1alpha2"}) {
			return fmt.Errorf("stored versions %q", stored)
		}
		return nil
	})
	if out := s.edit(t, resource, map[string]any{"maxUnavailable": int64(1)}, "server", budget); !strings.HasSuffix(out, "unchanged") {
		t.Errorf("applied again: %s", out)
	}
	s.settled(t)
	checkOneRollout(t, s, revision)
	did(t, "the RoleBinding for anyuid is gone, v1alpha2 is stored, and the manifest of release 0.9 changes nothing")
	s.thereAndBack(t, plain)
	s.in(t).Kubectl("delete", "llsd", s.name)
	plain.in(t).Kubectl("delete", "llsd", plain.name)
}

// thereAndBack prepares the downgrade to release 0.9 and installs this operator again: no server restarts or loses a
// request.
func (s stack) thereAndBack(t *testing.T, plain stack) {
	t.Helper()
	stacks := []stack{s, plain}
	var revisions, pods []string
	var asked []*traffic
	for _, one := range stacks {
		revisions, pods = append(revisions, one.in(t).Revision(one.name)), append(pods, one.pod(t).Name)
		asked = append(asked, startTraffic(t, serviceURL(t, one.namespace, one.name+"-service")))
	}
	var out, problems bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	if code := plugin.Run(t.Context(), []string{"downgrade-prepare", "--kubeconfig", cluster.Kubeconfig}, streams); code != cli.ExitOK {
		t.Fatalf("%s%s", out.String(), problems.String())
	}
	if stored := s.storedVersions(t); !slices.Equal(stored, []string{"v1alpha1"}) {
		t.Errorf("stored versions %q\n%s", stored, out.String())
	}
	did(t, "downgrade-prepare: v1alpha1 is stored, as release 0.9 needs it")
	framework.NoError(t, installOperator(t.Context()))
	for i, one := range stacks {
		framework.Eventually(t, soon, one.name+" is read as v1alpha2", func() error { return kube.Get(t.Context(), one.key(), &v1alpha2.LlamaStackDistribution{}) })
		framework.Eventually(t, framework.Patience, one.name+" is adopted again", func() error {
			d := &appsv1.Deployment{}
			if err := kube.Get(t.Context(), one.key(), d); err != nil || release09.IsUnadopted(d) {
				return fmt.Errorf("the Deployment is release 0.9's: %w", err)
			}
			return nil
		})
		one.waitServer(t, pinned.version)
		if one.in(t).Revision(one.name) != revisions[i] || one.pod(t).Name != pods[i] {
			t.Errorf("%s has pod %s of revision %s, had %s of %s", one.name, one.pod(t).Name, one.in(t).Revision(one.name), pods[i], revisions[i])
		}
		if o := asked[i].end(); o.lost > 0 || o.sent < 20 {
			t.Errorf("%s: %s; the first: %v", one.name, o, o.first)
		}
	}
	s.waitCompletions(t, 1)
	did(t, "dist/install.yaml is applied again: the same pods, the completion is still there, and no request was lost")
}

// runByRelease09 creates the objects of a file as release 0.9 does for the stack, with the pinned image, and waits
// until the server runs.
func (s stack) runByRelease09(t *testing.T, file string) {
	t.Helper()
	cr, err := s.asV1alpha1(t.Context())
	framework.NoError(t, err)
	text := framework.ReadFile(t, filepath.Join(framework.Root(), "tests", "e2e", "testdata", file))
	_, err = framework.CreateAsRelease09(t.Context(), kube, cr, strings.ReplaceAll(string(text), "{{IMAGE}}", pinned.ref))
	framework.NoError(t, err)
	s.in(t).Kubectl("rollout", "status", "deployment/"+s.name, "--timeout="+serverStart.String())
}

// storedVersions returns the stored versions in the CRD's status.
func (s stack) storedVersions(t *testing.T) []string {
	t.Helper()
	return strings.Fields(s.in(t).Kubectl("get", crd, "-o", "jsonpath={.status.storedVersions[*]}"))
}

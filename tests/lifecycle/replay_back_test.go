// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

func (r *replayed) resource(one *framework.Recorded) *unstructured.Unstructured {
	r.T.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(one.Resource.GroupVersionKind())
	framework.NoError(r.T, r.Client.Get(r.T.Context(), key(one), u))
	return u
}

// release09Again writes all objects twice, as release 0.9 does in two reconciles, and returns how many Deployments the
// API server rejected.
func (r *replayed) release09Again() (refused int) {
	r.T.Helper()
	for range 2 {
		refused = 0
		for _, one := range r.recorded {
			n, err := one.WriteAgain(r.T.Context(), r.Client, r.converter, r.resource(one))
			if err != nil {
				r.T.Fatalf("%s: %v", one.Name(), err)
			}
			refused += n
		}
	}
	for _, one := range r.recorded {
		if one.Object("Deployment") != nil {
			r.rolledOut(one)
		}
	}
	return refused
}

// Proves: R21, R78, R22, MIG-SVM, L-25 (if release 0.9's manifest is applied over this operator, its CRD is rejected
// and its manager writes once more; applying this operator's manifest again repairs that. After downgrade-prepare,
// release 0.9's CRD is admitted, all objects are stored in v1alpha1 as before, and its manager restores every object; a
// second upgrade works like the first).
func TestReplayOfDowngradeAndUpgrade(t *testing.T) {
	t.Parallel()
	s := newControlPlane(t)
	r := s.replay()
	before := r.states()
	s.install()
	binary := buildManager(t)
	operator := s.start(binary)
	r.allAdopted()
	r.editAll()
	r.restoreAll()
	r.allApplied()
	r.upgraded(before)
	first := map[string]any{}
	for name := range before {
		first[name] = meaning(framework.Tree(t, r.deployment(r.one(name)).Spec.Template))
	}

	// Release 0.9's manifest is applied in between.
	out, err := s.TryApply(oldCRD)
	if err == nil || !strings.Contains(out, "storedVersions") {
		t.Errorf("the CRD of release 0.9 is not refused: %s", out)
	}
	// From here on, webhooks of this process convert, because no Deployment runs the operator here.
	webhooks := s.startReplica(replicaOptions{})
	s.serve(webhooks)
	r.stop(operator)
	t.Logf("%d Deployments of release 0.9 are refused", r.release09Again())
	before = r.states()
	s.install()
	operator = s.start(binary)
	if rolled := r.upgraded(before); rolled < 14 {
		t.Errorf("%d Deployments have rolled: release 0.9 has changed the others not at all", rolled)
	}
	for name, template := range first {
		if diff := cmp.Diff(template, meaning(framework.Tree(t, r.deployment(r.one(name)).Spec.Template))); diff != "" {
			t.Errorf("%s is not as after the first upgrade (-first +second):\n%s", name, diff)
		}
	}

	// The downgrade.
	r.stop(operator)
	for range 2 { // it is idempotent
		r.downgrade()
	}
	webhooks.end()
	<-webhooks.done
	s.service.Remove(webhooks.server.Address().String())
	r.checkStoredAsBefore()
	s.Apply(oldCRD)
	if refused := r.release09Again(); refused > 0 {
		t.Errorf("%d Deployments of release 0.9 are refused", refused)
	}
	r.checkAsRecorded()

	before = r.states()
	s.install()
	s.start(binary)
	r.allAdopted()
	if diff := cmp.Diff(before, r.states(), cmp.AllowUnexported(state{})); diff != "" {
		t.Errorf("the second adoption has rolled something out (-before +after):\n%s", diff)
	}
	r.editAll()
	r.allApplied()
	if rolled := r.upgraded(before); rolled < 14 {
		t.Errorf("%d Deployments have rolled: release 0.9 has changed the others not at all", rolled)
	}
	r.checkTemplates()
}

func (r *replayed) downgrade() {
	r.T.Helper()
	var out, problems bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &out, Err: &problems}
	page, err := os.ReadFile(filepath.Join(framework.Root(), "docs", "downgrade.md"))
	shown := regexp.MustCompile(`(?m)^ *kubectl llamastack (downgrade-.*)$`).FindSubmatch(page)
	if err != nil || shown == nil {
		r.T.Fatalf("the page has no command: %v", err)
	}
	args := append(strings.Fields(string(shown[1])), "--kubeconfig", r.Cluster.Kubeconfig)
	if code := plugin.Run(r.T.Context(), args, streams); code != cli.ExitOK {
		r.T.Fatalf("%s%s", out.String(), problems.String())
	}
	r.T.Log(out.String())
}

// checkStoredAsBefore checks that every custom resource is stored in v1alpha1 as it was recorded, and that no webhook
// refers to the removed operator.
func (r *replayed) checkStoredAsBefore() {
	r.T.Helper()
	for _, one := range r.recorded {
		stored, err := r.Cluster.Stored(r.T.Context(), "llamastack.io/llamastackdistributions", key(one).Namespace, one.Name())
		if err != nil || stored["apiVersion"] != "llamastack.io/v1alpha1" {
			r.T.Errorf("%s is stored as %v, %v", one.Name(), stored["apiVersion"], err)
		}
		if diff := cmp.Diff(one.Resource.Object["spec"], stored["spec"]); diff != "" {
			r.T.Errorf("%s has changed (-recorded +stored):\n%s", one.Name(), diff)
		}
	}
	if got := r.Kubectl("get", framework.CRD, "-o", "jsonpath={.status.storedVersions} {.spec.conversion.strategy} {.spec.versions[*].name}"); got != `["v1alpha1"] None v1alpha1` {
		r.T.Errorf("the CRD has %s", got)
	}
	kinds := "validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings"
	if left := r.Kubectl("get", kinds, "-o", "name"); strings.Contains(left, "llama") {
		r.T.Errorf("left is\n%s", left)
	}
}

// checkAsRecorded checks that every object of release 0.9 is as it was recorded, with release 0.9 as field manager and
// the v1alpha1 custom resource as owner.
func (r *replayed) checkAsRecorded() {
	r.T.Helper()
	for _, one := range r.recorded {
		for _, recorded := range one.Objects {
			now := &unstructured.Unstructured{}
			now.SetGroupVersionKind(recorded.GroupVersionKind())
			if err := r.Client.Get(r.T.Context(), client.ObjectKeyFromObject(recorded), now); err != nil {
				if recorded.GetKind() != "ConfigMap" {
					r.T.Errorf("%s %s: %v", recorded.GetKind(), recorded.GetName(), err)
				}
				continue
			}
			if owner := metav1.GetControllerOf(now); owner == nil || owner.APIVersion != "llamastack.io/v1alpha1" {
				r.T.Errorf("%s %s is owned by %v", recorded.GetKind(), recorded.GetName(), now.GetOwnerReferences())
			}
			if !appliedBy09(recorded, one.Name()) {
				continue
			}
			was, is := field(framework.WithoutServerFields(recorded, "x"), "spec"), field(framework.WithoutServerFields(now, "x"), "spec")
			for _, line := range differences("", meaning(was), meaning(is)) {
				r.T.Errorf("%s %s is not as release 0.9 made it: %s", recorded.GetKind(), recorded.GetName(), line)
			}
			if labels := cmp.Diff(recorded.GetLabels(), now.GetLabels()); labels != "" {
				r.T.Errorf("%s %s (-recorded +now):\n%s", recorded.GetKind(), recorded.GetName(), labels)
			}
		}
	}
}

func appliedBy09(o *unstructured.Unstructured, resource string) bool {
	for _, e := range o.GetManagedFields() {
		if e.Manager == resource && e.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

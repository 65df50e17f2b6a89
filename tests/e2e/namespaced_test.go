// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// namespacedOperatorStays follows docs/namespaced.md in a cluster without another operator. It runs after all parts
// that need the operator of dist/install.yaml, because the CRD of this mode has no conversion.
//
// Proves: L-34, L-19 (with a node: pods of the operator and servers).
func namespacedOperatorStays(t *testing.T) {
	overlay := filepath.Join(framework.Root(), "config", "overlays", "namespaced")
	kubectl := in(t, framework.OperatorNamespace).Kubectl
	kubectl("delete", "-f", filepath.Join(framework.Root(), "dist", "install.yaml"), "--ignore-not-found", "--timeout=120s")
	start := time.Now()
	for _, folder := range []string{"team-a", "team-b", "elsewhere", framework.OperatorNamespace} {
		namespace(t, folder)
	}
	kubectl("apply", "-k", filepath.Join(overlay, "admin"))
	kubectl("wait", "--for=condition=Established", "crd/llamastackdistributions.llamastack.io", "--timeout=180s")
	registered = nil // the settings are deleted with the namespace
	use(t, &pinned)
	watched := installNamespacedOperator(t, overlay)
	if want := []string{"team-a", "team-b"}; !slices.Equal(watched, want) {
		t.Fatalf("the overlay watches %q, want %q", watched, want)
	}
	stacks := []stack{{"team-a", sampleName}, {"team-b", sampleName}}
	foreign := stack{"elsewhere", sampleName}
	for _, s := range append(stacks, foreign) {
		key := newKey()
		s.putSecret(t, sampleSecret, key)
		s.in(t).Kubectl("apply", "-f", samplePath())
		if s == stacks[0] {
			s.startModelServer(t, sampleServer, sampleModel, key)
		}
	}
	kubectl("rollout", "status", "deployment/"+framework.OperatorName, "--timeout=120s")
	did(t, "an operator with Roles only is installed from the overlay, which watches %q", watched)

	for _, s := range stacks {
		s.waitReady(t)
	}
	stacks[0].chats(t, sampleServer, sampleServer, sampleModel)
	did(t, "the sample is Ready in both namespaces, and answers a chat completion with the key of the Secret")

	stacks[1].in(t).Kubectl("delete", "llsd", sampleName, "--timeout=180s")
	if out := foreign.in(t).Kubectl("get", "llsd,all,configmaps", "-o", "yaml"); strings.Contains(out, "conditions:") || strings.Contains(out, "kind: Deployment") {
		t.Errorf("the namespace %s was changed:\n%s", foreign.namespace, out)
	}
	namespacedOperatorIsBoundInside(t, watched)
	for _, found := range canaries.Find(kubectl("logs", "-l", "control-plane=controller-manager", "--tail=-1")) {
		t.Errorf("the log of the operator contains %s", found)
	}
	// Its pending requests end, so that the audit log has them.
	kubectl("delete", "deployment", framework.OperatorName, "--cascade=foreground", "--timeout=180s")

	requests, err := cluster.Requests()
	framework.NoError(t, err)
	requests = slices.DeleteFunc(requests, func(r framework.Request) bool { return r.Received.Before(start) })
	strays, inside := framework.UnexpectedRequests(requests, framework.OperatorName, append([]string{framework.OperatorNamespace}, watched...)...)
	for _, stray := range strays {
		t.Error(stray)
	}
	if inside < 50 {
		t.Errorf("only %d requests of the operator are in the audit log, so this shows nothing", inside)
	}
	did(t, "of its %d requests none was denied, and none was about anything outside of its namespaces; the one elsewhere is not touched", inside)
}

// installNamespacedOperator applies the overlay with the tests' image and log level, and the Roles of the watched
// namespaces, which it returns.
func installNamespacedOperator(t *testing.T, overlay string) (watched []string) {
	t.Helper()
	released := framework.ReadFile(t, filepath.Join(framework.Root(), "dist", "install.yaml"))
	image := regexp.MustCompile(`image: .*\n`).Find(released)
	manifest, err := cluster.KubectlRun(t.Context(), "kustomize", overlay)
	framework.NoError(t, err)
	flag := regexp.MustCompile(`- --watch-namespaces=(.*)\n`).FindStringSubmatch(manifest)
	if flag == nil || !strings.Contains(manifest, "image: controller:latest\n") || strings.Contains(manifest, "kind: ClusterRole") {
		t.Fatalf("the overlay is not as expected:\n%s", manifest)
	}
	watched = strings.Split(flag[1], ",")
	for _, name := range watched {
		in(t, name).Kubectl("apply", "-k", filepath.Join(overlay, "watched"))
	}
	manifest = strings.ReplaceAll(manifest, "image: controller:latest\n", string(image))
	manifest = strings.Replace(manifest, flag[0], flag[0]+"        - --zap-log-level=127\n", 1)
	in(t, framework.OperatorNamespace).Apply(manifest)
	return watched
}

// namespacedOperatorIsBoundInside checks that the operator has no ClusterRole and no permission outside its namespaces.
func namespacedOperatorIsBoundInside(t *testing.T, watched []string) {
	t.Helper()
	isOperator := func(s rbacv1.Subject) bool {
		return s.Name == framework.OperatorName && s.Namespace == framework.OperatorNamespace || s.Name == "system:serviceaccounts:"+framework.OperatorNamespace
	}
	var everywhere rbacv1.ClusterRoleBindingList
	var inside rbacv1.RoleBindingList
	framework.NoError(t, errors.Join(kube.List(t.Context(), &everywhere), kube.List(t.Context(), &inside)))
	for i := range everywhere.Items {
		if b := &everywhere.Items[i]; slices.ContainsFunc(b.Subjects, isOperator) {
			t.Errorf("ClusterRoleBinding %s binds the operator to %s", b.Name, b.RoleRef.Name)
		}
	}
	bound := map[string]bool{}
	for i := range inside.Items {
		b := &inside.Items[i]
		if !slices.ContainsFunc(b.Subjects, isOperator) {
			continue
		}
		bound[b.Namespace] = true
		if b.RoleRef.Kind != "Role" || b.Namespace != framework.OperatorNamespace && !slices.Contains(watched, b.Namespace) {
			t.Errorf("RoleBinding %s/%s binds the operator to %s %s", b.Namespace, b.Name, b.RoleRef.Kind, b.RoleRef.Name)
		}
	}
	if len(bound) != len(watched)+1 {
		t.Errorf("Roles are bound in %v, want them in the namespace of the operator and in %q", bound, watched)
	}
	for _, question := range []string{
		"list secrets -A", "list llamastackdistributions.llamastack.io -A", "get configmaps -n elsewhere", "list secrets -n elsewhere",
		"create deployments.apps -n elsewhere", "patch llamastackdistributions.llamastack.io --subresource=status -n elsewhere",
		"get customresourcedefinitions.apiextensions.k8s.io", "create tokenreviews.authentication.k8s.io", "list namespaces",
	} {
		args := append([]string{"auth", "can-i", "--as=system:serviceaccount:" + framework.OperatorNamespace + ":" + framework.OperatorName}, strings.Fields(question)...)
		if out, err := cluster.KubectlRun(t.Context(), args...); err == nil || !strings.HasSuffix(strings.TrimSpace(out), "no") {
			t.Errorf("may the operator %s? %s", question, out)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const managerRole = "llama-stack-k8s-operator-manager-role"

// Proves: L-19, L-33 (a condition reports a revoked permission, the server keeps running, and the edit takes effect
// once the permission is restored).
func TestPermissionsAreRevokedAndRestored(t *testing.T) {
	w, o, _ := startedWorld(t, kubeconfig)
	role := &rbacv1.ClusterRole{}
	framework.NoError(t, admin.Get(t.Context(), client.ObjectKey{Name: managerRole}, role))
	whole := role.DeepCopy()
	for i := range role.Rules {
		rule := &role.Rules[i]
		if slices.Contains(rule.Resources, "deployments") {
			rule.Verbs = slices.DeleteFunc(rule.Verbs, func(v string) bool { return v == "patch" || v == "update" })
		}
	}
	setRole := func(t *testing.T, r *rbacv1.ClusterRole) {
		t.Helper()
		framework.Eventually(t, patience, "the role changes", func() error {
			now := &rbacv1.ClusterRole{}
			ctx := context.WithoutCancel(t.Context())
			if err := admin.Get(ctx, client.ObjectKeyFromObject(r), now); err != nil {
				return err
			}
			now.Rules = r.Rules
			return admin.Update(ctx, now)
		})
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		now := &rbacv1.ClusterRole{}
		if err := admin.Get(ctx, client.ObjectKeyFromObject(whole), now); err == nil {
			now.Rules = whole.Rules
			_ = admin.Update(ctx, now)
		}
	})
	setRole(t, role)
	took := w.edit("s")
	framework.Eventually(t, patience, "a condition names the right", func() error {
		cr, err := w.get("s")
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionDeploymentUpdated)
		if c == nil || c.ObservedGeneration != cr.Generation || !strings.Contains(c.Message, `cannot patch resource "deployments"`) {
			return fmt.Errorf("%+v", c)
		}
		if !meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionAvailable) {
			t.Errorf("the server is not Available: %+v", cr.Status.Conditions)
		}
		return nil
	})
	setRole(t, whole)
	given := time.Now()
	took()
	figures.add(t, "right to patch Deployments taken away and given back: the edit takes effect after", "60 s, a condition names the right", seconds(time.Since(given)))
	within(t, "the edit after the right was given back", time.Since(given), time.Minute)
	w.waitReady("s")
	o.sameProcesses(t)
}

// Proves: L-27, R71 (without reachable webhooks, servers keep running, and edits are possible as soon as a replica
// serves them again).
func TestWebhooksCannotBeReached(t *testing.T) {
	w, o, r := startedWorld(t, kubeconfig)
	before, err := w.deployment("s")
	framework.NoError(t, err)
	o.service.Remove(r.Webhook)
	o.service.CloseConnections()
	framework.NoError(t, admin.Delete(t.Context(), service(w, "s"))) // the operator's own writes need no webhook
	framework.Eventually(t, patience, "the Service is there again", func() error {
		return admin.Get(t.Context(), client.ObjectKey{Namespace: w.Name, Name: "s-service"}, &corev1.Service{})
	})
	o.service.Add(r.Webhook)
	took := w.edit("s")()
	figures.add(t, "webhooks cannot be reached for a while: an edit made right after takes effect after", "5 s", seconds(took))
	within(t, "an edit after the webhooks are back", took, editGoal)
	after, err := w.deployment("s")
	framework.NoError(t, err)
	if after.UID != before.UID {
		t.Error("the Deployment is another one")
	}
	o.sameProcesses(t)
}

func service(w *world, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Name, Name: name + "-service"}}
}

// Proves: L-30 (a terminating namespace deletes its resources, and does not delay other namespaces).
func TestNamespacesTerminate(t *testing.T) {
	w, leaving := newWorld(t), newWorld(t)
	o := newOperator(t, kubeconfig)
	o.start(t)
	w.create("s")
	for i := range 5 {
		leaving.create(fmt.Sprintf("s-%d", i))
	}
	w.waitReady("s")
	leaving.waitReady("s-0", "s-4")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: leaving.Name}}
	framework.NoError(t, admin.Delete(t.Context(), namespace))
	began := time.Now()
	took := w.edit("s")()
	leaving.gone(namespace)
	figures.add(t, "a namespace with five custom resources terminates: an edit elsewhere takes effect after", "5 s", seconds(took))
	within(t, "an edit meanwhile", took, editGoal)
	within(t, "the namespace", time.Since(began), time.Minute)
	o.sameProcesses(t)
}

// Proves: L-30 (deleting the CRD deletes all custom resources; when it is restored, the same process continues).
func TestCRDIsDeletedAndRestored(t *testing.T) {
	w, o, _ := startedWorld(t, kubeconfig)
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: framework.CRDName}}
	framework.NoError(t, admin.Delete(t.Context(), crd))
	w.gone(crd)
	w.gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Name, Name: "s"}})
	framework.NoError(t, connect())
	began := time.Now()
	w.create("s")
	framework.Eventually(t, patience, "the custom resource gets its Deployment", func() error {
		_, err := w.deployment("s")
		return err
	})
	took := time.Since(began)
	figures.add(t, "CRD deleted and put back: a new custom resource has its Deployment after", "60 s", seconds(took))
	within(t, "a new custom resource", took, time.Minute)
	w.waitReady("s")
	o.sameProcesses(t)
}

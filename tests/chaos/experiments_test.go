// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// experiments are the experiments of a public chaos framework for operators, by its names, that the other tests do not
// cover.
var experiments = []struct {
	name, goal string
	// inject injects a fault, and returns a function that checks whether the operator has recovered.
	inject func(*testing.T, *world) (recovered func() error)
	within time.Duration
}{
	{"OwnerRefOrphan: the owner is removed of all objects but the PVC", "1 s, same pods", orphan, repairGoal},
	{"OwnerRefOrphan: the custom resource is deleted without its objects, and made again", "5 s, same pods and data", remake, editGoal},
	{"FinalizerBlock: a finalizer of somebody else's holds a custom resource", "an edit elsewhere takes effect within 5 s; once it is removed, all that is owned goes", blockDeletion, time.Minute},
	{"RBACRevoke: the binding of the ClusterRole has no subjects for 10 s", "60 s", revoke, time.Minute},
	{"WebhookDisrupt: the CA bundles of the webhooks are replaced", "5 s", disrupt, editGoal},
}

// Proves: L-08, L-27, L-30 (the operator recovers from each experiment, in the same process).
func TestExperiments(t *testing.T) {
	w, o, _ := startedWorld(t, kubeconfig)
	for _, e := range experiments {
		t.Run(e.name, func(t *testing.T) {
			recovered := e.inject(t, w)
			began := time.Now()
			framework.Eventually(t, patience, "the operator recovers", recovered)
			took := time.Since(began)
			figures.add(t, e.name, e.goal, seconds(took))
			within(t, e.name, took, e.within)
		})
	}
	within(t, "an edit in the end", w.edit("s")(), editGoal)
	w.waitReady("s")
	o.sameProcesses(t)
}

func orphan(t *testing.T, w *world) func() error {
	t.Helper()
	before, err := w.deployment("s")
	framework.NoError(t, err)
	for _, o := range w.objects("s") {
		if o.GetKind() == "PersistentVolumeClaim" {
			continue
		}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
		framework.NoError(t, admin.Patch(t.Context(), &o, patch))
	}
	return func() error { return w.sameButOwned(before, "") }
}

// remake deletes a custom resource, orphans its objects, and creates it again.
func remake(t *testing.T, w *world) func() error {
	t.Helper()
	before, err := w.deployment("s")
	framework.NoError(t, err)
	cr := w.resource("s")
	framework.NoError(t, admin.Delete(t.Context(), cr, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	w.gone(cr)
	framework.Eventually(t, patience, "the objects have no owner", func() error {
		if d, err := w.deployment("s"); err != nil || len(d.OwnerReferences) > 0 {
			return fmt.Errorf("the Deployment has the owners %+v: %w", d.OwnerReferences, err)
		}
		return nil
	})
	w.create("s")
	return func() error { return errors.Join(w.sameButOwned(before, "PersistentVolumeClaim"), w.isReady("s")()) }
}

// sameButOwned returns an error if the Deployment's spec has changed, or an object has no owner; an object of the kind
// without must have none.
func (w *world) sameButOwned(before *appsv1.Deployment, without string) error {
	for _, o := range w.objects(before.Name) {
		if owned := metav1.GetControllerOf(&o) != nil; owned == (o.GetKind() == without) {
			return fmt.Errorf("%s %s has the owners %+v", o.GetKind(), o.GetName(), o.GetOwnerReferences())
		}
	}
	after, err := w.deployment(before.Name)
	if err == nil && (after.UID != before.UID || !equality.Semantic.DeepEqual(after.Spec, before.Spec)) {
		err = fmt.Errorf("the Deployment is another one: %s", cmp.Diff(before.Spec, after.Spec))
	}
	return err
}

func blockDeletion(t *testing.T, w *world) func() error {
	t.Helper()
	cr := w.resource("held")
	cr.Finalizers = []string{"example.com/held"}
	framework.NoError(t, admin.Create(t.Context(), cr))
	w.waitReady("held")
	framework.NoError(t, admin.Delete(t.Context(), cr))
	within(t, "an edit elsewhere", w.edit("s")(), editGoal)
	framework.NoError(t, admin.Patch(t.Context(), w.resource("held"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	return func() error {
		if left := w.owned("held"); len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return nil
	}
}

func revoke(t *testing.T, w *world) func() error {
	t.Helper()
	bindings := &rbacv1.ClusterRoleBindingList{}
	framework.NoError(t, admin.List(t.Context(), bindings))
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if binding.RoleRef.Name != managerRole {
			continue
		}
		subjects := binding.Subjects
		set := func(ctx context.Context, to []rbacv1.Subject) {
			binding.Subjects = to
			if err := admin.Update(ctx, binding); err != nil {
				t.Error(err)
			}
		}
		set(t.Context(), nil)
		took := w.edit("s")
		<-time.After(10 * time.Second)
		set(t.Context(), subjects)
		return func() error { took(); return nil }
	}
	t.Fatal("the role is not bound")
	return nil
}

func disrupt(t *testing.T, _ *world) func() error {
	t.Helper()
	foreign := framework.NewCA(t).PEM
	crd, hooks := &apiextensionsv1.CustomResourceDefinition{}, &admissionv1.ValidatingWebhookConfiguration{}
	read := func() error {
		return errors.Join(admin.Get(t.Context(), client.ObjectKey{Name: certificates.CRDName}, crd),
			admin.Get(t.Context(), client.ObjectKey{Name: certificates.ValidationName}, hooks))
	}
	framework.Eventually(t, patience, "the CA bundles are replaced", func() error {
		if err := read(); err != nil {
			return err
		}
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = foreign
		for i := range hooks.Webhooks {
			hooks.Webhooks[i].ClientConfig.CABundle = foreign
		}
		return errors.Join(admin.Update(t.Context(), crd), admin.Update(t.Context(), hooks))
	})
	return func() error {
		if err := read(); err != nil {
			return err
		}
		for i := range hooks.Webhooks {
			if bytes.Contains(hooks.Webhooks[i].ClientConfig.CABundle, foreign) {
				return fmt.Errorf("webhook %d has it", i)
			}
		}
		if bytes.Contains(crd.Spec.Conversion.Webhook.ClientConfig.CABundle, foreign) {
			return errors.New("the CRD has it")
		}
		return nil
	}
}

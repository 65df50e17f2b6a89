// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// repairGoal bounds the time until a changed or deleted object is restored.
const repairGoal = time.Second

// vandalism are patches of fields that the operator writes, by kind.
var vandalism = map[string]string{
	"ServiceAccount":          `{"metadata":{"labels":{"app.kubernetes.io/instance":"somebody"}}}`,
	"Service":                 `{"spec":{"ports":[{"name":"http","port":1,"targetPort":1}]}}`,
	"NetworkPolicy":           `{"spec":{"ingress":[{}]}}`,
	"PodDisruptionBudget":     `{"spec":{"maxUnavailable":3}}`,
	"HorizontalPodAutoscaler": `{"spec":{"maxReplicas":7}}`,
	"Deployment":              `{"metadata":{"labels":{"app.kubernetes.io/instance":"somebody"}}}`,
}

// Proves: L-08, L-31, R56 (the operator restores deleted and edited objects within a second, and replaces no pod whose
// template is the same).
func TestOwnObjectsAreRepaired(t *testing.T) {
	w := newWorld(t)
	newOperator(t, kubeconfig).start(t)
	cr := w.resource("s")
	cr.Spec.Workload.Storage = nil // a PVC in use stays until its pods are gone
	cr.Spec.Workload.Autoscaling = &v1alpha2.AutoscalingSpec{MinReplicas: new(int32(1)), MaxReplicas: new(int32(3))}
	framework.NoError(t, admin.Create(t.Context(), cr))
	w.waitReady("s")
	before, err := w.deployment("s")
	framework.NoError(t, err)
	var slowestDeleted, slowestEdited time.Duration
	deleted, edited := 0, 0
	for _, o := range w.objects("s") {
		kind := o.GetKind()
		if patch := vandalism[kind]; patch != "" {
			took := w.vandalize(o, patch)
			within(t, "the repair of an edited "+kind, took, repairGoal)
			slowestEdited, edited = max(slowestEdited, took), edited+1
		}
		took := w.deleteAndAwait(o)
		within(t, "the repair of a deleted "+kind, took, repairGoal)
		slowestDeleted, deleted = max(slowestDeleted, took), deleted+1
		w.waitReady("s")
	}
	after, err := w.deployment("s")
	framework.NoError(t, err)
	if diff := cmp.Diff(before.Spec.Template, after.Spec.Template); diff != "" {
		t.Errorf("the pods are others (-before +after):\n%s", diff)
	}
	if edited != len(vandalism) {
		t.Errorf("%d of %d kinds were edited", edited, len(vandalism))
	}
	figures.add(t, fmt.Sprintf("each of %d objects deleted: the slowest is there again after", deleted), "1 s, same pod template", seconds(slowestDeleted))
	figures.add(t, fmt.Sprintf("each of %d objects edited: the slowest is as it was after", edited), "1 s, same pod template", seconds(slowestEdited))
}

// objects returns the complete objects that a custom resource owns.
func (w *world) objects(name string) (list []unstructured.Unstructured) {
	w.t.Helper()
	for _, kind := range append(apply.FullKinds(), &corev1.ConfigMap{}, &corev1.Secret{}) {
		gvk, err := apiutil.GVKForObject(kind, admin.Scheme())
		framework.NoError(w.t, err)
		some := &unstructured.UnstructuredList{}
		some.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		framework.NoError(w.t, admin.List(w.t.Context(), some, client.InNamespace(w.Name), client.MatchingLabels(names.Selector(name))))
		list = append(list, some.Items...)
	}
	return list
}

// vandalize patches an object, and waits until it is restored.
func (w *world) vandalize(o unstructured.Unstructured, patch string) time.Duration {
	w.t.Helper()
	want := essence(&o)
	began := time.Now()
	framework.NoError(w.t, admin.Patch(w.t.Context(), o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch))))
	return w.await(&o, began, func(now *unstructured.Unstructured) error {
		if diff := cmp.Diff(want, essence(now)); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

// deleteAndAwait deletes an object, and waits for a new one of its name.
func (w *world) deleteAndAwait(o unstructured.Unstructured) time.Duration {
	w.t.Helper()
	began := time.Now()
	framework.NoError(w.t, admin.Delete(w.t.Context(), o.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground)))
	return w.await(&o, began, func(now *unstructured.Unstructured) error {
		if now.GetUID() == o.GetUID() {
			return errors.New("it is the old one")
		}
		return nil
	})
}

func (w *world) await(o *unstructured.Unstructured, began time.Time, check func(*unstructured.Unstructured) error) time.Duration {
	w.t.Helper()
	framework.Eventually(w.t, patience, o.GetKind()+" "+o.GetName()+" is repaired", func() error {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(o.GroupVersionKind())
		if err := admin.Get(w.t.Context(), client.ObjectKeyFromObject(o), now); err != nil {
			return err
		}
		return check(now)
	})
	return time.Since(began)
}

// essence returns the labels and the spec of an object, without the autoscaler's replicas.
func essence(o *unstructured.Unstructured) any {
	spec := o.DeepCopy().Object["spec"]
	if m, ok := spec.(map[string]any); ok && o.GetKind() == "Deployment" {
		delete(m, "replicas")
	}
	return []any{o.GetLabels(), spec}
}

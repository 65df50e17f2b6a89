// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"maps"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
)

// holding is a cache that holds some Deployments, and shares what it holds.
type holding struct {
	cache.Cache

	all []appsv1.Deployment
}

func (h *holding) Get(_ context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	for i := range h.all {
		if key == client.ObjectKeyFromObject(&h.all[i]) && *(&client.GetOptions{}).ApplyOptions(options).UnsafeDisableDeepCopy {
			*into.(*appsv1.Deployment) = h.all[i]
		}
	}
	return nil
}

func (h *holding) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	if *(&client.ListOptions{}).ApplyOptions(options).UnsafeDisableDeepCopy {
		into.(*appsv1.DeploymentList).Items = h.all
	}
	return nil
}

// deploymentOf is a Deployment as an API server sends it.
func deploymentOf(managedBy string) *appsv1.Deployment {
	own := metav1.ManagedFieldsEntry{Manager: apply.FieldManager, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: full(managedBy),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "llama-stack"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "llama-stack", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}}},
		}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: 1, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Message: "m"}}},
	}
	d.ManagedFields = append(d.ManagedFields, own)
	return d
}

// Proves: L-01, R7 (of a Deployment in the cache stays what events and indexes read; who asks for it gets all that the operator uses).
func TestDeploymentsArePacked(t *testing.T) {
	want := deploymentOf("llama-stack-operator")
	stripped, err := strip(want.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want = stripped.(*appsv1.Deployment)
	small, err := packDeployment(deploymentOf("llama-stack-operator"))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := packDeployment(small); again != small || err != nil {
		t.Errorf("packed twice: %v, %v", again, err)
	}
	held := small.(*appsv1.Deployment)
	if held.UID != want.UID || held.ResourceVersion != want.ResourceVersion || metav1.GetControllerOf(held).Name != "my-stack" ||
		instance(held)[0] != "my-stack" || !reflect.DeepEqual(held.Spec, appsv1.DeploymentSpec{}) {
		t.Errorf("held is %+v", held)
	}
	before := held.DeepCopy()
	c := &deployments{&holding{all: []appsv1.Deployment{*held}}}
	got, list := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Paused: true}}, &appsv1.DeploymentList{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
		t.Fatal(err)
	}
	if err := c.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatal(list.Items, err)
	}
	for _, one := range []*appsv1.Deployment{got, &list.Items[0]} {
		if diff := cmp.Diff(want, one); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		maps.Copy(one.Labels, map[string]string{"changed": "by the reader"})
	}
	if diff := cmp.Diff(before, held); diff != "" {
		t.Errorf("the cache's own was changed:\n%s", diff)
	}
	if other, err := packDeployment("a tombstone"); other != "a tombstone" || err != nil {
		t.Errorf("%v %v", other, err)
	}
	held.Annotations[packedDeployment] = "damaged"
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(want), got); err == nil {
		t.Error("a damaged one was read")
	}
}

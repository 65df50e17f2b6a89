// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: R69, L-04 (the first apply moves the fields to server-side apply, and removes undesired fields and the
// annotation of the creation).
func TestNewObjectsAreCreatedAndLaterApplied(t *testing.T) {
	c := fakecluster.New(t)
	a := applier(c)
	cr, list := full(1)
	if _, f := a.Apply(t.Context(), cr, list); f != nil || len(c.Created) != len(list) {
		t.Fatalf("created %v, %v", c.Created, f)
	}
	service := &corev1.Service{}
	key := client.ObjectKey{Namespace: "ai", Name: "my-stack-service"}
	if err := c.Get(t.Context(), key, service); err != nil || service.Annotations[names.AnnotationCreatedFrom] == "" || !hasUpdateEntry(service.ManagedFields) {
		t.Errorf("the Service was not created: %v, %+v", err, service.ObjectMeta)
	}
	configMaps := &corev1.ConfigMapList{}
	if err := c.List(t.Context(), configMaps); err != nil || len(configMaps.Items) != 1 || configMaps.Items[0].Annotations[names.AnnotationCreatedFrom] != "" {
		t.Errorf("ConfigMaps %+v, %v: what is generated is never applied", configMaps.Items, err)
	}

	cr, list = full(2)
	c.Created = nil
	if _, f := a.Apply(t.Context(), cr, list); f != nil || len(c.Created) != 2 { // the ConfigMap and the derived Secret
		t.Fatalf("created %v, %v", c.Created, f)
	}
	service = &corev1.Service{}
	if err := c.Get(t.Context(), key, service); err != nil || service.Annotations[names.AnnotationCreatedFrom] != "" || hasUpdateEntry(service.ManagedFields) {
		t.Errorf("the Service was not applied: %v, %+v", err, service.ObjectMeta)
	}
	if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 8002 {
		t.Errorf("ports %+v", service.Spec.Ports)
	}
}

// conflicting rejects the first patches with a conflict.
type conflicting struct {
	client.Client
	left int
}

func (c *conflicting) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.left--
	if c.left >= 0 {
		return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, o.GetName(), errors.New("the object has been modified"))
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

// Proves: R69.
func TestFirstApplyIsRetriedOnConflicts(t *testing.T) {
	c := fakecluster.New(t)
	cr, list := full(1)
	if _, f := applier(c).Apply(t.Context(), cr, list); f != nil {
		t.Fatal(f)
	}
	cr, list = full(2)
	a := &Applier{Client: &conflicting{Client: c, left: 2}, Cached: c, Live: c}
	if _, f := a.Apply(t.Context(), cr, list); f != nil {
		t.Error(f)
	}
}

// Proves: R69, R56 (a cache that lacks an object or has an old version causes no write).
func TestStaleCachesCauseNoWrite(t *testing.T) {
	c := fakecluster.New(t)
	a := applier(c)
	a.Cached = fakecluster.New(t) // an empty cache
	for range 2 {
		c.Applied = nil
		if _, f := a.Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1")); f != nil {
			t.Fatal(f)
		}
	}
	if len(c.Applied) > 0 {
		t.Errorf("written again: %v", c.Applied)
	}
	// An operator that was killed in between does not know its created objects.
	if _, f := (&Applier{Client: c, Cached: a.Cached, Live: c}).Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1")); f != nil ||
		slices.ContainsFunc(c.Applied, func(what string) bool { return what != "Deployment/my-stack" }) { // the fake API server reports the Deployment's status as the operator's field
		t.Errorf("written again: %v, %v", c.Applied, f)
	}
}

// Proves: R69, L-08, R78 (an existing object without the custom resource as owner may be from release 0.9).
func TestApplyReportsConflictingObjects(t *testing.T) {
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-service"}}
	left := fakecluster.Owned(theirs.DeepCopy(), "u1")
	left.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}})
	// A PVC that was adopted, so that its fields have no manager, and then bound.
	bound := left.DeepCopyObject().(client.Object)
	bound.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`),
	}})
	for name, c := range map[string]struct {
		live client.Object
		want bool
	}{
		"another owner's":              {theirs, true},
		"its own, made by release 0.9": {left, true},
		"its own, adopted":             {bound, false},
		"its own":                      {fakecluster.Owned(theirs.DeepCopy(), "u1"), false},
		"none":                         {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "another"}}, false},
	} {
		cluster := fakecluster.New(t, c.live)
		a := applier(cluster)
		a.Cached = fakecluster.New(t)
		result, f := a.Apply(t.Context(), fakecluster.Owner(), fakecluster.Desired("a: 1"))
		if result.NameTaken != c.want || (f != nil) != c.want {
			t.Errorf("%s: in the way: %v, %v", name, result.NameTaken, f)
		}
	}
}

// Proves: L-08 (generated objects are recreated; a PVC stays unowned, because its data may be kept on purpose).
func TestOrphansAreOwnedAgain(t *testing.T) {
	c := fakecluster.New(t)
	a := applier(c)
	cr, list := full(1)
	send := func() {
		t.Helper()
		c.Applied, c.Created, c.Deleted = nil, nil, nil
		if _, f := a.Apply(t.Context(), cr, list); f != nil {
			t.Fatal(f)
		}
	}
	send()
	orphans := func(change func(client.Object)) {
		t.Helper()
		for _, o := range list {
			live := EmptyLike(o)
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
				t.Fatal(err)
			}
			live.SetOwnerReferences(nil)
			change(live)
			if err := c.Update(t.Context(), live); err != nil {
				t.Fatal(err)
			}
		}
	}
	orphans(func(client.Object) {})
	send()
	for _, o := range list {
		live := EmptyLike(o)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), live); err != nil {
			t.Fatal(err)
		}
		keepsData := KindOf(o) == "PersistentVolumeClaim"
		if metav1.IsControlledBy(live, cr) == keepsData {
			t.Errorf("%s %s has the owners %+v", KindOf(o), o.GetName(), live.GetOwnerReferences())
		}
	}
	if len(c.Deleted) != 2 || len(c.Created) != 2 {
		t.Errorf("deleted %v, created %v; want what is generated", c.Deleted, c.Created)
	}

	for name, change := range map[string]func(client.Object){
		"of another resource": func(o client.Object) { o.SetLabels(names.NewPodsSelector("other")) },
		"another controller's": func(o client.Object) {
			o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Rollout", Name: "r", UID: "r", Controller: new(true)}})
		},
		"another owner's": func(o client.Object) {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{fakecluster.Entry("kubectl", "Apply", `{"f:spec":{}}`, "")})
		},
	} {
		orphans(change)
		if _, f := a.Apply(t.Context(), cr, list); f == nil || f.Reason != problem.Conflict {
			t.Errorf("%s: %v, want a conflict", name, f)
		}
		orphans(func(o client.Object) { o.SetLabels(names.NewPodsSelector("my-stack")) })
	}
}

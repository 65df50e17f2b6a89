// SPDX-License-Identifier: Apache-2.0

package storageversion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

type cluster struct {
	client.WithWatch
	patched []string
	refuse  map[string]error
}

func newCluster(t *testing.T, storage string, stored []string, names ...string) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), v1alpha2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crdName}}
	for _, v := range []string{"v1alpha1", "v1alpha2"} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true, Storage: v == storage})
	}
	crd.Status.StoredVersions = stored
	list := []client.Object{crd}
	for _, name := range names {
		list = append(list, &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}})
	}
	c := &cluster{refuse: map[string]error{}}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(list...).WithStatusSubresource(crd).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if data, _ := patch.Data(o); string(data) != "{}" {
				t.Errorf("%s is changed: %s", o.GetName(), data)
			}
			c.patched = append(c.patched, o.GetName())
			if err := c.refuse[o.GetName()]; err != nil {
				return err
			}
			return inner.Patch(ctx, o, patch, opts...)
		},
	}).Build()
	return c
}

func (c *cluster) stored(t *testing.T) []string {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: crdName}, crd); err != nil {
		t.Fatal(err)
	}
	return crd.Status.StoredVersions
}

// Proves: MIG-SVM, L-29 (resources stay unchanged; a failure keeps the stored versions, and the next run completes).
func TestOnce(t *testing.T) {
	both := []string{"v1alpha1", "v1alpha2"}
	c := newCluster(t, "v1alpha2", both, "a", "b", "c")
	m := &Migration{Live: c, Client: c, StatusClient: c}
	c.refuse["b"] = errors.New("the webhook is away")
	if _, err := m.Once(t.Context()); err == nil || !slices.Equal(c.stored(t), both) || len(c.patched) != 3 {
		t.Errorf("error %v, stored %v, patched %v: want the others rewritten and the list as it was", err, c.stored(t), c.patched)
	}
	delete(c.refuse, "b")
	if n, err := m.Once(t.Context()); err != nil || n != 3 || !slices.Equal(c.stored(t), []string{"v1alpha2"}) {
		t.Errorf("rewritten %d, error %v, stored %v", n, err, c.stored(t))
	}
	before := len(c.patched)
	if n, err := m.Once(t.Context()); err != nil || n != 0 || len(c.patched) != before {
		t.Errorf("again: rewritten %d, error %v", n, err)
	}
}

// Proves: MIG-SVM (an error if the CRD stores another version, and no writes for a new cluster).
func TestNothingToMigrate(t *testing.T) {
	old := newCluster(t, "v1alpha1", []string{"v1alpha1"}, "a")
	if _, err := (&Migration{Live: old, Client: old, StatusClient: old}).Once(t.Context()); !errors.Is(err, errNotStored) || len(old.patched) > 0 {
		t.Errorf("an older definition: error %v, patched %v", err, old.patched)
	}
	fresh := newCluster(t, "v1alpha2", []string{"v1alpha2"}, "a")
	if n, err := (&Migration{Live: fresh, Client: fresh, StatusClient: fresh}).Once(t.Context()); err != nil || n != 0 || len(fresh.patched) > 0 {
		t.Errorf("a fresh cluster: %v, patched %v", err, fresh.patched)
	}
}

// Proves: MIG-SVM (write errors are retried; a CRD that is missing or stores another version is waited for).
func TestReconcile(t *testing.T) {
	reconciled := func(c *cluster) error {
		_, err := (&Migration{Live: c, Client: c, StatusClient: c}).Reconcile(t.Context(), reconcile.Request{})
		return err
	}
	c := newCluster(t, "v1alpha2", []string{"v1alpha1", "v1alpha2"}, "a")
	c.refuse["a"] = errors.New("the webhook is away")
	if err := reconciled(c); err == nil || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("error %v, want one that is tried again", err)
	}
	delete(c.refuse, "a")
	if err := reconciled(c); err != nil || !slices.Equal(c.stored(t), []string{"v1alpha2"}) {
		t.Errorf("error %v, stored %v", err, c.stored(t))
	}
	if err := reconciled(newCluster(t, "v1alpha1", []string{"v1alpha1"})); !errors.Is(err, reconcile.TerminalError(nil)) || !errors.Is(err, errNotStored) {
		t.Errorf("an older definition: error %v, want one that is waited for", err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crdName}}
	if err := c.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	if err := reconciled(c); err != nil {
		t.Errorf("no definition: %v", err)
	}
}

// Proves: MIG-SVM (ten resources at once and then ten per second).
func TestPace(t *testing.T) {
	names := make([]string, 45)
	for i := range names {
		names[i] = fmt.Sprintf("r%d", i)
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "v1alpha2", []string{"v1alpha1", "v1alpha2"}, names...)
		began := time.Now()
		if n, err := (&Migration{Live: c, Client: c, StatusClient: c}).Once(t.Context()); err != nil || n != len(names) {
			t.Errorf("rewritten %d, error %v", n, err)
		}
		if took := time.Since(began).Round(time.Millisecond); took != 3500*time.Millisecond {
			t.Errorf("%d resources took %s", len(names), took)
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// cluster is an API server in memory that reports what was written, and can refuse it. What server-side apply does to fields
// only a real one proves.
type cluster struct {
	client.WithWatch
	applied, deleted []string
	patched, asked   []string
	refuse           map[string]error // by "Kind/name"
	listsOfReplicas  int
}

func newCluster(t *testing.T, initial ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{refuse: map[string]error{}}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(initial...).WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			c.patched = append(c.patched, kindOf(o)+"/"+o.GetName())
			return inner.Patch(ctx, o, patch, opts...)
		},
		Apply: func(ctx context.Context, inner client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			named := o.(applyObject)
			what := named.GetKind() + "/" + named.GetName()
			options := &client.ApplyOptions{}
			options.ApplyOptions(opts)
			if len(options.DryRun) > 0 {
				c.asked = append(c.asked, what)
				return c.refuse[what]
			}
			c.applied = append(c.applied, what)
			if err := c.refuse[what]; err != nil {
				return err
			}
			if err := inner.Apply(ctx, o, opts...); err != nil {
				return err
			}
			return identify(ctx, inner, named)
		},
		Delete: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			what := kindOf(o) + "/" + o.GetName()
			c.deleted = append(c.deleted, what)
			if options := (&client.DeleteOptions{}).ApplyOptions(opts); options.Preconditions == nil || options.Preconditions.UID == nil {
				t.Errorf("%s is deleted by name alone: it may be a new one by now", what)
			}
			if err := c.refuse[what]; err != nil {
				return err
			}
			return inner.Delete(ctx, o, opts...)
		},
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*appsv1.ReplicaSetList); ok {
				c.listsOfReplicas++
			}
			return inner.List(ctx, list, opts...)
		},
	}).Build()
	return c
}

// applyObject is what the client hands over for server-side apply.
type applyObject interface {
	metav1.Object
	GetKind() string
	GetAPIVersion() string
}

// identify gives a new object a UID, as an API server does.
func identify(ctx context.Context, c client.Client, o applyObject) error {
	stored := &unstructured.Unstructured{}
	stored.SetAPIVersion(o.GetAPIVersion())
	stored.SetKind(o.GetKind())
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetName()}, stored); err != nil || stored.GetUID() != "" {
		return err
	}
	stored.SetUID(types.UID(o.GetKind() + "-" + o.GetName()))
	if err := c.Update(ctx, stored); err != nil {
		return err
	}
	o.SetUID(stored.GetUID())
	o.SetResourceVersion(stored.GetResourceVersion())
	return nil
}

func (c *cluster) applier() *Applier { return &Applier{Client: c, Cached: c, Live: c} }

func owner() *v1alpha2.LlamaStackDistribution {
	return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
}

// desiredObjects are the objects for the owner with a configuration.
func desiredObjects(config string) []objects.Object {
	p := &objects.Params{
		CR: owner(), Image: "registry.example/starter:0.7.1", StateDir: "distributions/starter", Config: []byte(config), PortVariables: []string{"LLAMA_STACK_PORT"},
	}
	return []objects.Object{objects.ServiceAccount(p), objects.ConfigMap(p), objects.Deployment(p), objects.Service(p)}
}

func owned(o client.Object, uid string) client.Object {
	yes := true
	o.SetNamespace("ai")
	o.SetUID("of-" + o.GetUID())
	o.SetLabels(map[string]string{
		objects.LabelManagedBy: objects.ManagedBy, "app": "llama-stack", "app.kubernetes.io/instance": "my-stack",
	})
	if uid != "" {
		ref := metav1.OwnerReference{APIVersion: "llamastack.io/v1alpha2", Kind: v1alpha2.Kind, Name: "my-stack", Controller: &yes}
		ref.UID = owner().UID
		if uid != "u1" {
			ref.UID = "u0"
		}
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
	}
	return o
}

func sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return fmt.Sprint(list)
}

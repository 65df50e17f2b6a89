// SPDX-License-Identifier: Apache-2.0

// Package fakecluster is an API server in memory for unit tests of writes. It records the writes and can refuse them.
// It does not prove what server-side apply does to fields.
package fakecluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/endpoint"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Cluster is an API server in memory.
type Cluster struct {
	client.WithWatch
	// Applied, Patched and Deleted are the requested writes as "Kind/name", and Asked are the dry runs. Created are the
	// new objects, which are also in Applied.
	Applied, Created, Patched, Deleted, Asked []string
	// Refuse has the error for the writes of an object, by "Kind/name".
	Refuse map[string]error
	// ListsOfReplicaSets counts the lists of ReplicaSets.
	ListsOfReplicaSets int
}

// New returns a cluster that holds the objects.
func New(t *testing.T, initial ...client.Object) *Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme), objects.AddToScheme(scheme), endpoint.AddToScheme(scheme))
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{Refuse: map[string]error{}}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, kind := range []client.Object{
		&corev1.ServiceAccount{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.Pod{}, &appsv1.Deployment{},
		&autoscalingv2.HorizontalPodAutoscaler{}, &policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &networkingv1.Ingress{},
		&routev1.Route{}, &gatewayv1.HTTPRoute{},
	} {
		builder.WithIndex(kind, "instance", func(o client.Object) []string { return []string{o.GetLabels()[names.LabelInstance]} })
	}
	c.WithWatch = builder.WithObjects(initial...).WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		// A real client rejects an empty name.
		Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if key.Name == "" {
				return errors.New("resource name may not be empty")
			}
			return inner.Get(ctx, key, o, opts...)
		},
		Patch: func(ctx context.Context, inner client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			c.Patched = append(c.Patched, kindOf(o)+"/"+o.GetName())
			return inner.Patch(ctx, o, patch, opts...)
		},
		Create: c.create,
		Apply: func(ctx context.Context, inner client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			named := o.(applyObject)
			what := named.GetKind() + "/" + named.GetName()
			options := &client.ApplyOptions{}
			options.ApplyOptions(opts)
			if len(options.DryRun) > 0 {
				c.Asked = append(c.Asked, what)
				return c.Refuse[what]
			}
			c.Applied = append(c.Applied, what)
			if err := c.Refuse[what]; err != nil {
				return err
			}
			if err := inner.Apply(ctx, o, opts...); err != nil {
				return err
			}
			return identify(ctx, inner, named)
		},
		Delete: func(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			what := kindOf(o) + "/" + o.GetName()
			c.Deleted = append(c.Deleted, what)
			if options := (&client.DeleteOptions{}).ApplyOptions(opts); options.Preconditions == nil || options.Preconditions.UID == nil {
				t.Errorf("%s is deleted by name alone: it may be a new one by now", what)
			}
			if err := c.Refuse[what]; err != nil {
				return err
			}
			return inner.Delete(ctx, o, opts...)
		},
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*appsv1.ReplicaSetList); ok {
				c.ListsOfReplicaSets++
			}
			return inner.List(ctx, list, opts...)
		},
	}).Build()
	return c
}

func (c *Cluster) create(ctx context.Context, inner client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	what := kindOf(o) + "/" + o.GetName()
	options := &client.CreateOptions{}
	options.ApplyOptions(opts)
	if len(options.DryRun) > 0 {
		c.Asked = append(c.Asked, what)
		return c.Refuse[what]
	}
	if err := c.Refuse[what]; err != nil {
		c.Applied = append(c.Applied, what)
		return err
	}
	o.SetUID(types.UID(what))
	if err := inner.Create(ctx, o, opts...); err != nil {
		return err // not written, for example because it exists
	}
	c.Applied = append(c.Applied, what)
	c.Created = append(c.Created, what)
	return nil
}

// applyObject is the client's argument of server-side apply.
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

// Owner returns the custom resource that owns the objects.
func Owner() *v1alpha2.LlamaStackDistribution {
	return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
}

// Desired returns the objects for Owner with a configuration: ServiceAccount, ConfigMap, Deployment and Service.
func Desired(config string) []objects.Object {
	p := &objects.Params{
		CR: Owner(), Image: "registry.example/starter:0.7.1", StateDir: "distributions/starter", Config: []byte(config), PortVariables: []string{"LLAMA_STACK_PORT"},
	}
	return []objects.Object{objects.ServiceAccount(p), objects.ConfigMap(p), objects.Deployment(p), objects.Service(p)}
}

// Owned sets the labels of Owner. The controller is Owner for uid "u1", none for "", and an earlier Owner for other
// uids.
func Owned(o client.Object, uid string) client.Object {
	yes := true
	o.SetNamespace("ai")
	o.SetUID("of-" + o.GetUID())
	o.SetLabels(map[string]string{
		names.LabelManagedBy: names.ManagedBy, "app": "llama-stack", "app.kubernetes.io/instance": "my-stack",
	})
	if uid != "" {
		ref := metav1.OwnerReference{APIVersion: "llamastack.io/v1alpha2", Kind: v1alpha2.Kind, Name: "my-stack", Controller: &yes}
		ref.UID = Owner().UID
		if uid != "u1" {
			ref.UID = "u0"
		}
		o.SetOwnerReferences([]metav1.OwnerReference{ref})
	}
	return o
}

// Sorted returns the sorted list as text.
func Sorted(list []string) string {
	list = slices.Clone(list)
	slices.Sort(list)
	return fmt.Sprint(list)
}

// kindOf returns the kind of an object, or the name of its Go type if the object has no type metadata.
func kindOf(o client.Object) string {
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(o).Elem().Name()
}

// ReplicaSet returns a ReplicaSet of Owner that mounts a generated ConfigMap.
func ReplicaSet(revision int, replicas int32, configMap string) client.Object {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "rs-" + strconv.Itoa(revision), Annotations: map[string]string{"deployment.kubernetes.io/revision": strconv.Itoa(revision)},
	}}
	rs.Spec.Replicas = &replicas
	rs.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "user-config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}}
	return Owned(rs, "")
}

// Entry returns an entry of managed fields.
func Entry(manager, operation, fields, subresource string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

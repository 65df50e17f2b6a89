// SPDX-License-Identifier: Apache-2.0

package caching

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/packed"
)

// packedDeployment is the annotation in which a Deployment in the cache has all of itself. No object of an API server has it: its name is not valid.
const packedDeployment = "packed:"

// packDeployment leaves of a Deployment what events and indexes need, and packs the whole: of the operator's own objects it is by far the largest.
func packDeployment(in any) (any, error) {
	in, err := strip(in)
	d, ok := in.(*appsv1.Deployment)
	if !ok || err != nil || d.Annotations[packedDeployment] != "" {
		return in, err
	}
	text, err := d.Marshal()
	if err != nil {
		return in, nil //nolint:nilerr // an error would keep the event from the cache
	}
	small := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: d.Name, UID: d.UID, ResourceVersion: d.ResourceVersion, Labels: objects.OwnLabels(d.Labels),
		Annotations: map[string]string{packedDeployment: packed.Pack(text)},
	}}
	if owner := metav1.GetControllerOf(d); owner != nil {
		small.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return small, nil
}

// unpackDeployment makes of a Deployment in the cache the whole one, of which no part is the cache's.
func unpackDeployment(small, into *appsv1.Deployment) error {
	defer func() { into.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment")) }()
	all, ok := small.Annotations[packedDeployment]
	if !ok {
		small.DeepCopyInto(into)
		return nil
	}
	text, err := packed.Unpack(all)
	if err == nil {
		*into = appsv1.Deployment{}
		err = into.Unmarshal(text)
	}
	if err != nil {
		return fmt.Errorf("unpack Deployment %s/%s of the cache: %w", small.Namespace, small.Name, err)
	}
	return nil
}

// deployments unpacks the Deployments that a cache with packDeployment holds.
type deployments struct{ cache.Cache }

// Get returns a Deployment as the API server sent it, without what strip drops.
func (c *deployments) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	d, ok := into.(*appsv1.Deployment)
	if !ok {
		return c.Cache.Get(ctx, key, into, options...)
	}
	small := &appsv1.Deployment{} // the cache's own: unpacking only reads it
	if err := c.Cache.Get(ctx, key, small, append(slices.Clip(options), client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	return unpackDeployment(small, d)
}

// List returns Deployments as Get does.
func (c *deployments) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	list, ok := into.(*appsv1.DeploymentList)
	if !ok {
		return c.Cache.List(ctx, into, options...)
	}
	small := &appsv1.DeploymentList{}
	if err := c.Cache.List(ctx, small, append(slices.Clip(options), client.UnsafeDisableDeepCopy)...); err != nil {
		return err
	}
	list.ListMeta, list.Items = small.ListMeta, make([]appsv1.Deployment, len(small.Items))
	for i := range small.Items {
		if err := unpackDeployment(&small.Items[i], &list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

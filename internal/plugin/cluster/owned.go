// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Owned are the objects that belong to a custom resource.
type Owned struct {
	// Objects are the operator's objects by kind, without ConfigMaps and Secrets.
	Objects []client.Object
	// Pods are the server's pods; Events are all Events in the namespace.
	Pods   []corev1.Pod
	Events []corev1.Event
	// Unread lists the kinds that the user may not list.
	Unread []string
}

// GetOwned reads a custom resource and its objects. Forbidden kinds are added to Unread.
func (c *Connection) GetOwned(ctx context.Context, name string) (*v1alpha2.LlamaStackDistribution, *Owned, error) {
	cr, err := c.Get(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	f := &Owned{}
	selected := []client.ListOption{client.InNamespace(cr.Namespace), client.MatchingLabels(names.Selector(cr.Name))}
	var (
		deployments appsv1.DeploymentList
		services    corev1.ServiceList
		claims      corev1.PersistentVolumeClaimList
		autoscalers autoscalingv2.HorizontalPodAutoscalerList
		budgets     policyv1.PodDisruptionBudgetList
		policies    networkingv1.NetworkPolicyList
		ingresses   networkingv1.IngressList
		pods        corev1.PodList
		events      corev1.EventList
	)
	for _, kind := range []struct {
		name string
		list client.ObjectList
		opts []client.ListOption
	}{
		{"Deployments", &deployments, selected}, {"Services", &services, selected},
		{"PersistentVolumeClaims", &claims, selected},
		{"HorizontalPodAutoscalers", &autoscalers, selected}, {"PodDisruptionBudgets", &budgets, selected},
		{"NetworkPolicies", &policies, selected},
		{"Ingresses", &ingresses, selected}, {"Pods", &pods, selected},
		{"Events", &events, []client.ListOption{client.InNamespace(cr.Namespace)}},
	} {
		err := c.Client.List(ctx, kind.list, kind.opts...)
		switch {
		case apierrors.IsForbidden(err):
			f.Unread = append(f.Unread, kind.name+": no permission to list them")
		case err != nil:
			return nil, nil, fmt.Errorf("read %s: %w", kind.name, err)
		}
	}
	add(f, deployments.Items)
	add(f, services.Items)
	add(f, claims.Items)
	add(f, autoscalers.Items)
	add(f, budgets.Items)
	add(f, policies.Items)
	add(f, ingresses.Items)
	f.Pods, f.Events = pods.Items, events.Items
	return cr, f, nil
}

func add[T any, O interface {
	*T
	client.Object
}](f *Owned, items []T) {
	for i := range items {
		f.Objects = append(f.Objects, O(&items[i]))
	}
}

// SPDX-License-Identifier: Apache-2.0

package status

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
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config"
)

// facts are what was read about a custom resource.
type facts struct {
	cr     *v1alpha2.LlamaStackDistribution
	owned  []client.Object
	pods   []corev1.Pod
	events []corev1.Event
	// config is the configuration that runs; nil where nobody knows it.
	config *config.Base
	// unread names what could not be read, and why.
	unread []string
}

// gather reads everything about a custom resource.
func gather(ctx context.Context, c *cluster.Connection, name string) (*facts, error) {
	cr, err := c.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	f := &facts{cr: cr}
	own := []client.ListOption{client.InNamespace(cr.Namespace), client.MatchingLabels(objects.Selector(name))}
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{
		{"Deployments", &appsv1.DeploymentList{}},
		{"Services", &corev1.ServiceList{}},
		{"PersistentVolumeClaims", &corev1.PersistentVolumeClaimList{}},
		{"HorizontalPodAutoscalers", &autoscalingv2.HorizontalPodAutoscalerList{}},
		{"PodDisruptionBudgets", &policyv1.PodDisruptionBudgetList{}},
		{"NetworkPolicies", &networkingv1.NetworkPolicyList{}},
		{"Ingresses", &networkingv1.IngressList{}},
	} {
		if err := f.list(ctx, c, kind.name, kind.list, own...); err != nil {
			return nil, err
		}
		f.owned = append(f.owned, items(kind.list)...)
	}
	pods := &corev1.PodList{}
	if err := f.list(ctx, c, "Pods", pods, own...); err != nil {
		return nil, err
	}
	f.pods = pods.Items
	events := &corev1.EventList{}
	if err := f.list(ctx, c, "Events", events, client.InNamespace(cr.Namespace)); err != nil {
		return nil, err
	}
	f.events = events.Items
	return f, f.readConfig(ctx, c)
}

// list reads a list. Who may not gets to know it, and sees the rest.
func (f *facts) list(ctx context.Context, c *cluster.Connection, what string, into client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, into, opts...)
	if apierrors.IsForbidden(err) {
		f.unread = append(f.unread, what+": you may not list them")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// items are the objects of a list.
func items(list client.ObjectList) []client.Object {
	var found []client.Object
	switch l := list.(type) {
	case *appsv1.DeploymentList:
		found = pointers(l.Items)
	case *corev1.ServiceList:
		found = pointers(l.Items)
	case *corev1.PersistentVolumeClaimList:
		found = pointers(l.Items)
	case *autoscalingv2.HorizontalPodAutoscalerList:
		found = pointers(l.Items)
	case *policyv1.PodDisruptionBudgetList:
		found = pointers(l.Items)
	case *networkingv1.NetworkPolicyList:
		found = pointers(l.Items)
	case *networkingv1.IngressList:
		found = pointers(l.Items)
	}
	return found
}

func pointers[T any, O interface {
	*T
	client.Object
}](list []T) []client.Object {
	found := make([]client.Object, len(list))
	for i := range list {
		found[i] = O(&list[i])
	}
	return found
}

// readConfig reads the configuration that runs: the ConfigMap that the status names, else the one that the image has.
func (f *facts) readConfig(ctx context.Context, c *cluster.Connection) error {
	if g := f.cr.Status.ConfigGeneration; g != nil && g.ConfigMapName != "" {
		cm := &corev1.ConfigMap{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: f.cr.Namespace, Name: g.ConfigMapName}, cm)
		switch {
		case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
			f.unread = append(f.unread, "ConfigMap "+g.ConfigMapName+": "+string(apierrors.ReasonForError(err)))
			return nil
		case err != nil:
			return fmt.Errorf("read ConfigMap %s: %w", g.ConfigMapName, err)
		}
		if f.config, err = config.ParseBase(g.ConfigMapName, []byte(cm.Data[objects.ConfigKey])); err != nil {
			f.unread = append(f.unread, err.Error())
		}
		return nil
	}
	known, _, err := c.Settings(ctx, settings.DefaultNamespace)
	if err != nil {
		return err
	}
	if d, problem := known.Resolve(&f.cr.Spec.Distribution); problem == nil {
		f.config = d.Base
	}
	return nil
}

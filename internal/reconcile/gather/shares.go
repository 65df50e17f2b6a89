// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// ShareIndex indexes Deployments by the host name whose requests their servers share.
const ShareIndex = "share"

// SharedHost returns the values of a Deployment in ShareIndex.
func SharedHost(o client.Object) []string {
	if share, found := objects.ShareOf(o); found {
		return []string{share.Host}
	}
	return nil
}

// peers finds the custom resources that share the requests for the host name. Only what was applied counts: an edit
// that is refused changes no share.
func (g *Gatherer) peers(ctx context.Context, in *build.Inputs) *problem.Problem {
	if !in.SharesRequests() || in.Spec.Expose.Hostname == "" {
		return nil
	}
	var list appsv1.DeploymentList
	err := g.Cached.List(ctx, &list, client.InNamespace(in.CR.Namespace),
		client.MatchingFields{ShareIndex: in.Spec.Expose.Hostname}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return lookupFailed(v1alpha2.ConditionConfigGenerated, "spec.networking.expose.weight", "the Deployments", err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		share, found := objects.ShareOf(d)
		if !found || share.Name == in.CR.Name || d.DeletionTimestamp != nil {
			continue
		}
		in.Peers = append(in.Peers, build.Peer{
			Share: share, Available: d.Status.AvailableReplicas > 0, Databases: Databases(d),
		})
	}
	slices.SortFunc(in.Peers, func(a, b build.Peer) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// SharersOfHost returns the other custom resources of the namespace with a host name in their spec; hosts has
// HostIndex.
func SharersOfHost(ctx context.Context, hosts client.Reader, self types.NamespacedName,
	host string) ([]types.NamespacedName, error) {
	list := NewTrees()
	err := hosts.List(ctx, list, client.InNamespace(self.Namespace), client.MatchingFields{HostIndex: hostPrefix + host},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, err
	}
	var sharers []types.NamespacedName
	for i := range list.Items {
		if key := client.ObjectKeyFromObject(&list.Items[i]); key != self {
			sharers = append(sharers, key)
		}
	}
	return sharers, nil
}

// ShareDiffers reports whether two versions of a Deployment differ in what its peers take from it.
func ShareDiffers(a, b client.Object) bool {
	before, isDeployment := a.(*appsv1.Deployment)
	after, isStill := b.(*appsv1.Deployment)
	if !isDeployment || !isStill {
		return true
	}
	return before.Annotations[names.AnnotationShare] != after.Annotations[names.AnnotationShare] ||
		before.Annotations[names.AnnotationDatabases] != after.Annotations[names.AnnotationDatabases] ||
		(before.Status.AvailableReplicas > 0) != (after.Status.AvailableReplicas > 0) ||
		(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil)
}

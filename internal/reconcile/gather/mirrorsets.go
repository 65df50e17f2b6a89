// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// mirrorSets are OpenShift's kinds with image mirrors.
var mirrorSets = []schema.GroupVersionKind{
	{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"},
	{Group: "config.openshift.io", Version: "v1", Kind: "ImageTagMirrorSet"},
	{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"},
}

// MirrorSets returns the kinds of mirrors that the cluster has and the operator may list, which needs a ClusterRole.
func MirrorSets(ctx context.Context, mapper meta.RESTMapper, live client.Reader) ([]schema.GroupVersionKind, error) {
	var available []schema.GroupVersionKind
	for _, kind := range mirrorSets {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			err = live.List(ctx, MirrorSetList(kind), client.Limit(1))
		}
		switch {
		case err == nil:
			available = append(available, kind)
		case apierrors.IsForbidden(err):
			logf.FromContext(ctx).Info("ignoring the cluster's image mirrors: not permitted to list them", "kind", kind.Kind)
		case !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("discover the cluster's %ss: %w", kind.Kind, err)
		}
	}
	return available, nil
}

// MirrorSetList returns an empty list of a kind.
func MirrorSetList(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

func withMirrors(ctx context.Context, cached client.Reader, kinds []schema.GroupVersionKind,
	s *settings.Settings) (*settings.Settings, *problem.Problem) {
	var sets []unstructured.Unstructured
	for _, kind := range kinds {
		list := MirrorSetList(kind)
		if err := cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil { // the items are only read
			return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, pathDistribution, kind.Kind+"s", err)
		}
		sets = append(sets, list.Items...)
	}
	if len(sets) == 0 {
		return s, nil
	}
	return s.WithClusterMirrors(settings.ReadClusterMirrors(sets)), nil
}

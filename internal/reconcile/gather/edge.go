// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

var (
	routeKind     = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
	httpRouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
)

// EdgeAPIs returns which of these APIs the cluster has.
func EdgeAPIs(mapper meta.RESTMapper) (objects.EdgeAPIs, error) {
	var apis objects.EdgeAPIs
	for kind, has := range map[schema.GroupVersionKind]*bool{routeKind: &apis.Route, httpRouteKind: &apis.HTTPRoute} {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return objects.EdgeAPIs{}, fmt.Errorf("discover the API of %ss: %w", kind.Kind, err)
		}
		*has = err == nil
	}
	return apis, nil
}

const (
	// edgeInterval is the polling interval of KnownEdgeAPIs, edgeRetry the one after a failure.
	edgeInterval = 5 * time.Minute
	edgeRetry    = 10 * time.Second
)

// KnownEdgeAPIs caches the cluster's APIs for the webhooks and the manager.
type KnownEdgeAPIs struct {
	mapper meta.RESTMapper
	known  atomic.Pointer[objects.EdgeAPIs]
}

// NewKnownEdgeAPIs returns a cache that Start keeps up to date.
func NewKnownEdgeAPIs(mapper meta.RESTMapper) *KnownEdgeAPIs { return &KnownEdgeAPIs{mapper: mapper} }

// Get returns the cached APIs. Until they are known it returns all, and leaves the decision to the controller.
func (k *KnownEdgeAPIs) Get() objects.EdgeAPIs {
	if known := k.known.Load(); known != nil {
		return *known
	}
	return objects.EdgeAPIs{Route: true, HTTPRoute: true}
}

// Discover reads the cluster's APIs now.
func (k *KnownEdgeAPIs) Discover() (objects.EdgeAPIs, error) {
	apis, err := EdgeAPIs(k.mapper)
	if err == nil {
		k.known.Store(&apis)
	}
	return apis, err
}

// Start polls until the context ends.
func (k *KnownEdgeAPIs) Start(ctx context.Context) error {
	for {
		pause := edgeInterval
		if _, err := k.Discover(); err != nil {
			pause = edgeRetry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// ErrAPIsChanged means that the cluster's APIs changed.
var ErrAPIsChanged = errors.New("the cluster's APIs for exposing servers changed")

// AwaitChange returns ErrAPIsChanged when the cached APIs differ from these, or nil when the context ends.
func (k *KnownEdgeAPIs) AwaitChange(ctx context.Context, current objects.EdgeAPIs) error {
	err := wait.PollUntilContextCancel(ctx, edgeRetry, false, func(context.Context) (bool, error) {
		if k.Get() != current {
			return false, ErrAPIsChanged
		}
		return false, nil
	})
	if errors.Is(err, ErrAPIsChanged) {
		return err
	}
	return nil // the context ended
}

func (g *Gatherer) edgeAPIs() objects.EdgeAPIs {
	if g.EdgeAPIs == nil {
		return objects.EdgeAPIs{}
	}
	return g.EdgeAPIs()
}

// olderWithHost returns an older custom resource that uses the same host, or nil.
func (g *Gatherer) olderWithHost(ctx context.Context, in *build.Inputs) (*types.NamespacedName, *problem.Problem) {
	if g.Hosts == nil || !in.SharesHost() {
		return nil, nil
	}
	elder, err := NextOlder(ctx, g.Hosts, in.CR, in.Spec.Expose.Hostname, in.Edge.Domain)
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, "spec.networking.expose", "the custom resources with "+
			"the same host", err)
	}
	return elder, nil
}

// Domain returns the domain for exposed servers in the operator's settings, or "".
func (s *SettingsStore) Domain() string {
	if known := s.Current(); known != nil {
		return known.Edge.Domain
	}
	return ""
}

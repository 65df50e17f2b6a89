// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The kinds of objects.EdgeAPIs.
var (
	routeKind     = schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
	httpRouteKind = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
)

// EdgeAPIs asks the cluster which of these APIs it has.
func EdgeAPIs(mapper meta.RESTMapper) (objects.EdgeAPIs, error) {
	var apis objects.EdgeAPIs
	for kind, has := range map[schema.GroupVersionKind]*bool{routeKind: &apis.Route, httpRouteKind: &apis.HTTPRoute} {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return objects.EdgeAPIs{}, fmt.Errorf("asking the cluster for the API of %ss: %w", kind.Kind, err)
		}
		*has = err == nil
	}
	return apis, nil
}

// How often WatchEdgeAPIs asks: after a request that failed, and otherwise.
const (
	edgeRetry    = 10 * time.Second
	edgeInterval = 5 * time.Minute
)

// WatchEdgeAPIs asks the cluster which of the APIs it has, now and every few minutes, until the context ends or what is called with each answer returns an
// error, which is returned then. What cannot be asked is asked again soon.
func WatchEdgeAPIs(ctx context.Context, mapper meta.RESTMapper, answer func(objects.EdgeAPIs) error) error {
	for {
		pause := edgeRetry
		if apis, err := EdgeAPIs(mapper); err == nil {
			if err := answer(apis); err != nil {
				return err
			}
			pause = edgeInterval
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// KnownEdgeAPIs are the APIs as they were asked for last, for webhooks, which ask nothing themselves.
type KnownEdgeAPIs struct {
	mapper meta.RESTMapper
	known  atomic.Pointer[objects.EdgeAPIs]
}

// NewKnownEdgeAPIs returns what Start keeps up to date.
func NewKnownEdgeAPIs(mapper meta.RESTMapper) *KnownEdgeAPIs { return &KnownEdgeAPIs{mapper: mapper} }

// Get returns the APIs. Until they are known, the cluster counts as one that has all: what only the controller can know is left to it.
func (k *KnownEdgeAPIs) Get() objects.EdgeAPIs {
	if known := k.known.Load(); known != nil {
		return *known
	}
	return objects.EdgeAPIs{Route: true, HTTPRoute: true}
}

// Start asks until the context ends.
func (k *KnownEdgeAPIs) Start(ctx context.Context) error {
	return WatchEdgeAPIs(ctx, k.mapper, func(apis objects.EdgeAPIs) error {
		k.known.Store(&apis)
		return nil
	})
}

func (g *Gatherer) edgeAPIs() objects.EdgeAPIs {
	if g.EdgeAPIs == nil {
		return objects.EdgeAPIs{}
	}
	return g.EdgeAPIs()
}

// elder returns an older custom resource that uses the same host; nil if there is none.
func (g *Gatherer) elder(ctx context.Context, in *desired.Inputs) (*types.NamespacedName, *problem.Problem) {
	if g.Hosts == nil || !in.SharesHost() {
		return nil, nil
	}
	elder, err := NextOlder(ctx, g.Hosts, in.CR, in.Spec.Expose.Hostname, in.Edge.Domain)
	if err != nil {
		return nil, lookupFailed(v1alpha2.ConditionConfigGenerated, "spec.networking.expose", "the custom resources with the same host", err)
	}
	return elder, nil
}

// Domain returns the domain of exposed servers in the operator's settings; empty if they have none.
func (s *SettingsStore) Domain() string {
	if known := s.Current(); known != nil {
		return known.Edge.Domain
	}
	return ""
}

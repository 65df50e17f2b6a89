// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/internal/hosts"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/readable"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/parse"
)

// recordHosts records the hosts that custom resources use, and has those reconciled whose warning of an older one may change. All uses that there are when
// the operator starts are recorded before its first reconcile.
func recordHosts(table *hosts.Table, domain func() string) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(q queue, names []types.NamespacedName) {
		for _, name := range names {
			q.Add(reconcile.Request{NamespacedName: name})
		}
	}
	record := func(o client.Object) []types.NamespacedName {
		use := hosts.Use{Name: client.ObjectKeyFromObject(o), Created: o.GetCreationTimestamp().Time}
		expose := exposeOf(o)
		if !expose.Enabled {
			return table.Remove(use.Name, domain())
		}
		use.Hostname = expose.Hostname
		return table.Put(use, domain())
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if concerned := record(e.Object); !e.IsInInitialList { // all of that list are reconciled anyway
				add(q, concerned)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() {
				add(q, record(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			add(q, table.Remove(client.ObjectKeyFromObject(e.Object), domain()))
		},
	}
}

// usesOfHosts is the cache whose custom resources use host names: the manager's, and with a selector one of its own, which has all custom resources and
// of each only what a use of a host is made of. Two of different shards must not get the same host unnoticed.
func usesOfHosts(mgr manager.Manager, o Options) (cache.Cache, error) {
	if o.Selector == nil {
		return mgr.GetCache(), nil
	}
	options := cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: onlyUse,
		DefaultNamespaces: map[string]cache.Config{},
	}
	for _, namespace := range o.Namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	uses, err := cache.New(mgr.GetConfig(), options)
	if err == nil {
		err = mgr.Add(uses)
	}
	if err != nil {
		return nil, fmt.Errorf("watch the host names of all custom resources: %w", err)
	}
	return uses, nil
}

// onlyUse keeps of a custom resource what recordHosts reads.
func onlyUse(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	small := readable.NewTree()
	small.SetNamespace(u.GetNamespace())
	small.SetName(u.GetName())
	small.SetUID(u.GetUID())
	small.SetGeneration(u.GetGeneration())
	small.SetResourceVersion(u.GetResourceVersion())
	small.SetCreationTimestamp(u.GetCreationTimestamp())
	if expose, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "networking", "expose"); found && err == nil {
		small.Object["spec"] = map[string]any{"networking": map[string]any{"expose": expose}}
	}
	return small, nil
}

// exposeOf reads how a custom resource is exposed from the tree that the cache has; not at all where that cannot be read, which a reconcile reports.
// One whose reading panics is not exposed.
func exposeOf(o client.Object) parse.Expose {
	defer panics.CatchRead(logf.Log, o, "reading how a custom resource is exposed panicked")
	tree, ok := o.(*unstructured.Unstructured)
	if !ok {
		return parse.Expose{}
	}
	value, found, err := unstructured.NestedFieldNoCopy(tree.Object, "spec", "networking", "expose")
	if !found || err != nil {
		return parse.Expose{}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return parse.Expose{}
	}
	expose, problems := parse.ExposeField(&apiextensionsv1.JSON{Raw: raw})
	if len(problems) > 0 {
		return parse.Expose{}
	}
	return expose
}

// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/adopt"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/settingsreport"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe/prober"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
)

const (
	// largeWorkers is how many workers may build large custom resources at a time.
	largeWorkers = 2
	// firstRetry and lastRetry bound the exponential back-off of failed reconciles.
	firstRetry, lastRetry = 5 * time.Millisecond, 15 * time.Second
	// reconcileTimeout bounds one reconcile, so that a hanging API server does not hold a worker.
	reconcileTimeout = time.Minute
	// workers is the number of concurrent reconciles: enough for many new custom resources of seven requests each, few
	// enough that an edit among them is not slow.
	workers = 6
)

// Options configure Setup.
type Options struct {
	OperatorNamespace string
	// OperatorImage is the operator's image; if empty, the image of Pod, whose name is empty outside of a cluster.
	OperatorImage string
	Pod           types.NamespacedName
	// Settings has the operator's settings, also for the webhooks; the caller starts it.
	Settings *gather.SettingsStore
	// APIs has the APIs of the cluster, also for the webhooks; the caller starts it.
	APIs *gather.KnownEdgeAPIs
	// ServerURL overrides the URL of a CR's server, for tests without nodes; nil means its Service.
	ServerURL func(*v1alpha2.LlamaStackDistribution, corev1.URIScheme) string
	// Namespaces are the watched namespaces; empty means all.
	Namespaces []string
	// Selector selects the custom resources in the manager's cache; nil means all.
	Selector labels.Selector
	// SkipSettingsReport leaves reports about the settings to another operator.
	SkipSettingsReport bool
	// ForbidForeignConfigMaps refuses ConfigMaps of other namespaces, which v1alpha1 can name.
	ForbidForeignConfigMaps bool
	// AllowForeignConfigMaps accepts ConfigMaps of other namespaces without their owners' consent, as release 0.9 does.
	AllowForeignConfigMaps bool
	// Metrics are the controller's metrics; nil means unregistered ones.
	Metrics *metrics.Metrics
	// Build overrides the operator's build; empty means the compiled one.
	Build string
}

func newImageLabels(ctx context.Context, mgr manager.Manager, o *Options, key secret.Value,
	notify func(types.NamespacedName)) *imagelabels.Reader {
	return imagelabels.New(ctx, imagelabels.Options{
		Connect:  imagelabels.Connect(names.ManagedBy+"/"+version.Version(), o.Metrics.CountRegistryRequest),
		OnLookup: o.Metrics.CountLookup, Key: key, Notify: notify,
		Store: &imagelabels.Store{Live: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: o.OperatorNamespace},
	})
}

// Setup adds the controller to the manager. It reads or creates the hash key, so the API server must be reachable.
func Setup(ctx context.Context, mgr manager.Manager, o Options) error {
	if o.Metrics == nil {
		o.Metrics = metrics.New(catalog.Lines())
	}
	key, err := apply.EnsureHashKey(ctx, mgr.GetAPIReader(), mgr.GetClient(), o.OperatorNamespace)
	if err != nil {
		return err
	}
	apis, err := o.APIs.Discover()
	if err != nil {
		return err
	}
	assignsUserIDs, err := clusterAssignsUserIDs(mgr.GetRESTMapper())
	mirrorSets, noMirrors := gather.MirrorSets(ctx, mgr.GetRESTMapper(), mgr.GetAPIReader())
	operatorImage, noImage := gather.OperatorImage(ctx, mgr.GetAPIReader(), o.OperatorImage, o.Pod)
	hosts, noUses := hostCache(ctx, mgr, &o)
	err = errors.Join(err, noMirrors, noImage, noUses, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return o.APIs.AwaitChange(ctx, apis) // the restarted manager has caches and watches for the new APIs
	})))
	if err != nil {
		return err
	}
	if o.Build == "" {
		o.Build = version.Build()
	}
	locate := objects.ServerURL
	if o.ServerURL != nil {
		locate = func(cr *v1alpha2.LlamaStackDistribution, _ *corev1.Service, scheme corev1.URIScheme) (string, string) {
			return o.ServerURL(cr, scheme), ""
		}
	}
	r := &Reconciler{}
	*r = Reconciler{
		client: mgr.GetClient(),
		gatherer: &gather.Gatherer{
			Live: mgr.GetAPIReader(), Cached: mgr.GetCache(), OperatorNamespace: o.OperatorNamespace,
			HashKey: key, Build: o.Build, ClusterAssignsUserIDs: assignsUserIDs,
			Namespaces: o.Namespaces, ForbidForeignConfigMaps: o.ForbidForeignConfigMaps,
			AllowForeignConfigMaps: o.AllowForeignConfigMaps,
			EdgeAPIs:               func() objects.EdgeAPIs { return apis },
			Store:                  o.Settings, Hosts: hosts, Labels: newImageLabels(ctx, mgr, &o, key, r.enqueue),
			MirrorSets: mirrorSets, OperatorImage: operatorImage,
		},
		applier:   &apply.Applier{Client: mgr.GetClient(), Cached: mgr.GetCache(), Live: mgr.GetAPIReader(), EdgeAPIs: apis},
		live:      mgr.GetAPIReader(),
		adopter:   &adopt.Adopter{Client: mgr.GetClient(), Cached: mgr.GetCache(), Live: mgr.GetAPIReader()},
		prober:    prober.New(ctx, countingProber{serverprobe.New(), o.Metrics}, r.enqueue),
		serverURL: locate,
		recorder:  mgr.GetEventRecorder(names.ManagedBy),
		large:     semaphore.NewWeighted(largeWorkers),
		settings:  o.Settings,
		metrics:   o.Metrics,
	}
	return errors.Join(reportSettings(mgr, r, o), r.watch(mgr, hosts, &o))
}

// enqueue reconciles a custom resource whose server or image has a new result.
func (r *Reconciler) enqueue(key types.NamespacedName) {
	r.queue.Add(reconcile.Request{NamespacedName: key})
}

func reportSettings(mgr manager.Manager, r *Reconciler, o Options) error {
	if o.SkipSettingsReport {
		return nil
	}
	return (&settingsreport.Reporter{
		Read: r.gatherer.Settings, Watch: o.Settings.Watch, Cached: mgr.GetCache(), Recorder: r.recorder,
		Count: o.Metrics.SettingsErrors, OperatorNamespace: o.OperatorNamespace,
	}).Setup(mgr)
}

// clusterAssignsUserIDs reports whether the cluster assigns user IDs to pods, as OpenShift does.
func clusterAssignsUserIDs(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"})
	if err != nil && !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("discover the cluster's APIs: %w", err)
	}
	return err == nil, nil
}

// countingProber counts the requests to servers in the metrics.
type countingProber struct {
	prober.Client
	metrics *metrics.Metrics
}

func (c countingProber) Probe(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error) {
	observation, err := c.Client.Probe(ctx, server)
	c.metrics.CountProbe(err)
	return observation, err
}

func (c countingProber) Stores(ctx context.Context, server serverprobe.Server) (map[string]serverprobe.StoreResult,
	error) {
	results, err := c.Client.Stores(ctx, server)
	c.metrics.CountProbe(err)
	return results, err
}

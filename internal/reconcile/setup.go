// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/adopt"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/settingsreport"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
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

// watchMirrors reconciles all custom resources when the cluster's registry mirrors change.
func watchMirrors(b *builder.Builder, r *Reconciler) *builder.Builder {
	all := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.requests(ctx)
	})
	for _, kind := range r.gatherer.MirrorSets {
		set := &unstructured.Unstructured{}
		set.SetGroupVersionKind(kind)
		b = b.Watches(set, all, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return b
}

// clusterAssignsUserIDs reports whether the cluster assigns user IDs to pods, as OpenShift does.
func clusterAssignsUserIDs(mapper meta.RESTMapper) (bool, error) {
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "security.openshift.io", Kind: "SecurityContextConstraints"})
	if err != nil && !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("discover the cluster's APIs: %w", err)
	}
	return err == nil, nil
}

func (r *Reconciler) watch(mgr manager.Manager, hosts cache.Cache, o *Options) error {
	owner := debounced(handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(),
		&v1alpha2.LlamaStackDistribution{}, handler.OnlyControllerOwner()))
	b := ctrl.NewControllerManagedBy(mgr).
		Named("llamastackdistribution").
		For(gather.NewTree(), builder.WithPredicates(ignoreUpdate())).
		Watches(gather.NewTree(), prioritizeEdits(), builder.WithPredicates(specChanged())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, ReconciliationTimeout: reconcileTimeout,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		WatchesMetadata(apply.SecretMetadata(), handler.EnqueueRequestsFromMapFunc(r.referrersOf(objects.KindSecret))).
		WatchesMetadata(apply.ConfigMapMetadata(), handler.EnqueueRequestsFromMapFunc(r.referrersOf(objects.KindConfigMap))).
		WatchesRawSource(r.settingsChanges()).
		WatchesRawSource(source.Kind[client.Object](hosts, gather.NewTree(), enqueueNextHostUser(hosts, r.settings.Domain),
			hostsChanged())).
		Watches(&corev1.Pod{}, debounced(handler.EnqueueRequestsFromMapFunc(serverOfPod)),
			builder.WithPredicates(podChanged())).
		WatchesRawSource(source.Func(func(_ context.Context,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = queue // sources start before the workers, which alone probe servers and registries
			return nil
		}))
	for _, kind := range append(apply.OwnedKinds(), apply.EdgeKinds(r.applier.EdgeAPIs)...) {
		b = b.Watches(kind, owner, builder.WithPredicates(ignoreCreate(), deploymentChanged()))
	}
	built, err := watchMirrors(b, r).Build(r)
	if err != nil {
		return err
	}
	r.watchEndpoint, err = r.endpointWatches(mgr, o, built)
	return err
}

// ignoreCreate drops creations of owned objects, which the operator itself makes.
func ignoreCreate() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}
}

// ignoreUpdate drops updates, which prioritizeEdits handles: two handlers of one event can start two reconciles.
func ignoreUpdate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// deploymentChanged drops Deployment updates that change neither applied fields nor the status.
func deploymentChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isDeployment := e.ObjectOld.(*appsv1.Deployment)
		after, isStill := e.ObjectNew.(*appsv1.Deployment)
		return !isDeployment || !isStill || status.DeploymentDiffers(before, after)
	}}
}

func serverOfPod(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(),
		Name: names.ResourceOfPod(o.GetLabels())}}}
}

// podChanged passes deletions and updates that change the status; the Deployment counts new pods.
func podChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isPod := e.ObjectOld.(*corev1.Pod)
			after, isStill := e.ObjectNew.(*corev1.Pod)
			return !isPod || !isStill || pods.Differ(before, after)
		},
	}
}

// specChanged passes changes of the spec, and of the annotation in which conversion keeps v1alpha1 fields.
func specChanged() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{},
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
			return before[v1alpha2.ConversionAnnotation] != after[v1alpha2.ConversionAnnotation]
		}})
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

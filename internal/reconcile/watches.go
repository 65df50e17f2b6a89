// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

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
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.usersOfDatabases),
			builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(sharersOf(hosts)),
			builder.WithPredicates(shareChanged())).
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

// shareChanged passes changes of a Deployment that others at its host name take from it.
func shareChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool { return gather.ShareDiffers(e.ObjectOld, e.ObjectNew) },
	}
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

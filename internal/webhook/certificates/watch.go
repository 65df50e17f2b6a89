// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// reconcileTimeout bounds one reconcile; failed ones are retried with a backoff from firstRetry to lastRetry.
	reconcileTimeout      = 30 * time.Second
	firstRetry, lastRetry = 100 * time.Millisecond, 30 * time.Second
	// cacheSyncTimeout is the cache sync timeout: the operator must survive an API server that is down for a long time.
	cacheSyncTimeout = 10 * 365 * day
)

// NewManager sets the Keeper's Reader and Client and returns the manager that runs it. The manager has its own cache,
// because the cache of custom resources cannot sync before conversion works.
func NewManager(config *rest.Config, k *Keeper) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), admissionv1.AddToScheme(scheme),
		authenticationv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	objects := map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{k.Namespace: {}}, Field: named(SecretName)},
		&apiextensionsv1.CustomResourceDefinition{}:   {Field: named(CRDName), Transform: withoutSchemas},
		&admissionv1.ValidatingWebhookConfiguration{}: {Field: named(ValidationName)},
	}
	// A static mapper needs no discovery, so that NewManager succeeds while the API server is down.
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
	mapper.Add(admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), meta.RESTScopeRoot)
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
		Cache:   cache.Options{ByObject: objects, DefaultTransform: cache.TransformStripManagedFields()},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the webhooks' certificate: %w", err)
	}
	k.Reader = mgr.GetCache()
	if k.Client, err = client.New(config, client.Options{Scheme: scheme, Mapper: mapper}); err != nil {
		return nil, fmt.Errorf("write the webhooks' certificate: %w", err)
	}
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context,
		client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	b := ctrl.NewControllerManagedBy(mgr).Named("webhook-certificate").WithOptions(controller.Options{
		SkipNameValidation: new(true), ReconciliationTimeout: reconcileTimeout, CacheSyncTimeout: cacheSyncTimeout,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	})
	for object := range objects {
		b = b.Watches(object, one)
	}
	return mgr, b.Complete(k)
}

// withoutSchemas drops the managed fields and versions of a CRD from the cache.
func withoutSchemas(in any) (any, error) {
	if crd, ok := in.(*apiextensionsv1.CustomResourceDefinition); ok {
		crd.ManagedFields, crd.Spec.Versions = nil, nil
	}
	return in, nil
}

// SPDX-License-Identifier: Apache-2.0

package storageversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

const (
	crdName               = "llamastackdistributions.llamastack.io"
	pageSize              = 100
	perSecond             = 10
	firstRetry, lastRetry = time.Second, 5 * time.Minute
)

var crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
	Kind: "CustomResourceDefinition"}

// controller-gen reads these markers only if a blank line follows.
// +kubebuilder:rbac:groups=llamastack.io,resources=llamastackdistributions,verbs=list;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=llamastackdistributions.llamastack.io,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=llamastackdistributions.llamastack.io,verbs=patch

// Migration reconciles the CRD.
type Migration struct {
	// Live reads from the API server.
	Live client.Reader
	// Client writes custom resources.
	Client client.Writer
	// StatusClient writes the status of the CRD.
	StatusClient client.StatusClient
	// Count is called with the number of rewritten custom resources; may be nil.
	Count func(rewritten int)
}

// Setup adds the Migration to the manager, with its own cache of the CRD's metadata. It calls count with the number of
// rewritten custom resources.
func Setup(mgr manager.Manager, count func(rewritten int)) error {
	crds, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", crdName),
		DefaultTransform:     withoutAnnotations,
	})
	if err == nil {
		err = mgr.Add(crds)
	}
	if err != nil {
		return fmt.Errorf("watch the CustomResourceDefinition: %w", err)
	}
	watched := &metav1.PartialObjectMetadata{}
	watched.SetGroupVersionKind(crdKind)
	return ctrl.NewControllerManagedBy(mgr).
		Named("migration").
		WatchesRawSource(source.Kind(crds, watched,
			&handler.TypedEnqueueRequestForObject[*metav1.PartialObjectMetadata]{})).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(&Migration{Live: mgr.GetAPIReader(), Client: mgr.GetClient(), StatusClient: mgr.GetClient(), Count: count})
}

// withoutAnnotations drops annotations, in which kubectl keeps a copy of the CRD, and managed fields.
func withoutAnnotations(in any) (any, error) {
	if o, ok := in.(metav1.Object); ok {
		o.SetAnnotations(nil)
		o.SetManagedFields(nil)
	}
	return in, nil
}

// Reconcile migrates if necessary.
func (m *Migration) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	count, err := m.Once(ctx)
	if m.Count != nil {
		m.Count(count)
	}
	if count > 0 && err == nil {
		logf.FromContext(ctx).Info("resources are stored in the current version", "version", v1alpha2.GroupVersion.Version,
			"rewritten", count)
	}
	if errors.Is(err, errNotStored) {
		err = reconcile.TerminalError(err) // a change of the CRD triggers the next reconcile
	}
	return reconcile.Result{}, err
}

var errNotStored = errors.New("the CustomResourceDefinition does not store v1alpha2")

// Once rewrites all custom resources and trims storedVersions, unless only v1alpha2 is listed. It returns the number of
// rewritten custom resources.
func (m *Migration) Once(ctx context.Context) (int, error) {
	crd, done, err := m.crd(ctx)
	if err != nil || done {
		return 0, err
	}
	count, err := m.rewriteAll(ctx)
	if err != nil {
		return count, err
	}
	return count, m.trimStoredVersions(ctx, crd)
}

// readCRD reads the CRD, and reports whether the migration is done.
func (m *Migration) crd(ctx context.Context) (crd *unstructured.Unstructured, done bool, err error) {
	crd = &unstructured.Unstructured{}
	crd.SetGroupVersionKind(crdKind)
	err = m.Live.Get(ctx, types.NamespacedName{Name: crdName}, crd)
	if apierrors.IsNotFound(err) {
		return nil, true, nil // a new CRD triggers the next reconcile
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the CustomResourceDefinition: %w", err)
	}
	stored, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	if err != nil {
		return nil, false, err
	}
	if slices.Equal(stored, []string{v1alpha2.GroupVersion.Version}) {
		return crd, true, nil
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["name"] == v1alpha2.GroupVersion.Version &&
			version["storage"] == true {
			return crd, false, nil
		}
	}
	// An older CRD was restored, which does not store v1alpha2.
	return nil, false, errNotStored
}

// rewriteAll rewrites every custom resource with an empty patch, which changes nothing and cannot conflict.
func (m *Migration) rewriteAll(ctx context.Context) (int, error) {
	limit := flowcontrol.NewTokenBucketRateLimiter(perSecond, perSecond)
	defer limit.Stop()
	count, next := 0, ""
	var failed []error
	for {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind + "List"))
		err := m.Live.List(ctx, page, client.Limit(pageSize), client.Continue(next))
		if apierrors.IsResourceExpired(err) {
			return count, fmt.Errorf("the list of resources has expired: %w",
				err) // the retry starts at the first page
		}
		if err != nil {
			return count, fmt.Errorf("listing the resources: %w", err)
		}
		for i := range page.Items {
			if err := limit.Wait(ctx); err != nil {
				return count, err
			}
			o := &page.Items[i]
			o.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
			key := client.ObjectKeyFromObject(o)
			err := m.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte("{}")),
				client.FieldOwner(names.ManagedBy))
			if client.IgnoreNotFound(err) != nil {
				failed = append(failed, fmt.Errorf("rewriting %s: %w", key, err)) // continue with the others
				continue
			}
			count++
		}
		if next = page.Continue; next == "" {
			return count, errors.Join(failed...)
		}
	}
}

// trimStoredVersions sets storedVersions, with the resourceVersion of the CRD as a precondition.
func (m *Migration) trimStoredVersions(ctx context.Context, crd *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": crd.GetResourceVersion()},
		"status":   map[string]any{"storedVersions": []string{v1alpha2.GroupVersion.Version}},
	})
	if err != nil {
		return err
	}
	if err := m.StatusClient.Status().Patch(ctx, crd, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(names.ManagedBy)); err != nil {
		return fmt.Errorf("writing status.storedVersions: %w", err)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

var (
	errDeleted    = errors.New("it was deleted meanwhile; retrying")
	errNotAdopted = errors.New("it belongs to release 0.9 and was not adopted; retrying")
)

// create creates an object that the caches lack. If it exists, it is foreign or the caches lag behind.
func (a *Applier) create(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, c *change,
	result *Result) *problem.Problem {
	if c.orphan != nil {
		if p := Remove(ctx, a.Client, c.orphan); p != nil {
			return p
		}
	}
	o := c.createdObject()
	err := a.Client.Create(ctx, o, client.FieldOwner(FieldManager))
	switch {
	case apierrors.IsAlreadyExists(err):
		next, p := a.existing(ctx, owner, c, result)
		if p != nil || next == nil {
			return p
		}
		return a.write(ctx, owner, next, result)
	case err != nil:
		return rejected(owner, c, err)
	}
	result.Changed++
	result.record(o)
	return nil
}

// createdObject returns the object to create. An annotation keeps its hash until the first apply, because the API
// server assigns its defaults to the creator's fields.
func (c *change) createdObject() objects.Object {
	var source runtime.Object = c.Unstructured
	if clientgoscheme.Scheme.Recognizes(c.gvk) {
		source = c.object
	}
	o := source.DeepCopyObject().(objects.Object)
	if isGenerated(c.gvk) {
		return o
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationCreatedFrom] = hex.EncodeToString(c.desired[:])
	o.SetAnnotations(annotations)
	return o
}

// existing returns the change of an object whose creation failed because it exists, or nil if it is as desired.
func (a *Applier) existing(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, c *change,
	result *Result) (*change, *problem.Problem) {
	live, err := a.readMetadata(ctx, c.object)
	switch {
	case err != nil:
		return nil, Failed(c.String(), "could not be read", err)
	case live == nil:
		return nil, Failed(c.String(), "could not be applied", errDeleted)
	case !metav1.IsControlledBy(live, owner) && !isUsable(live, owner):
		result.NameTaken = true
		return nil, Conflict(c.String(), live, owner)
	case release09.Owns(live, owner.Name): // also before the first status of the custom resource
		result.NameTaken = true
		return nil, Failed(c.String(), "could not be created", errNotAdopted)
	}
	return a.difference(ctx, owner, c.object, live)
}

// migrateCreated moves the fields of a created object to server-side apply; otherwise undesired fields would stay.
func (a *Applier) migrateCreated(ctx context.Context, c *change) error {
	if c.live == nil || c.migrated || !hasUpdateEntry(c.live.GetManagedFields()) {
		return nil
	}
	c.migrated = true
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write the object, too
		o := MetadataOf(c.gvk)
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(o, sets.New(FieldManager), FieldManager)
		if err != nil || patch == nil {
			return err
		}
		return a.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
	})
}

// hasUpdateEntry reports whether the operator's fields are still those of a create or update.
func hasUpdateEntry(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == FieldManager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == ""
	})
}

// creationRank orders the objects of a new custom resource: those without a dry run come first, so that a taken name is
// found before others are created. Only a Deployment keeps its place, after what protects its pods.
func creationRank(owner *v1alpha2.LlamaStackDistribution, c *change) int {
	if c.gvk.Kind == "Deployment" || hasSpecValues(owner, c) {
		return 1
	}
	return 0
}

// RemoveCreated deletes what Apply created for a new custom resource before it found a taken name. It deletes no PVC,
// because Apply creates one only after it knows that the other names are free.
func (a *Applier) RemoveCreated(ctx context.Context, owner *v1alpha2.LlamaStackDistribution,
	list []objects.Object) *problem.Problem {
	for _, o := range slices.Backward(list) {
		gvk := o.GetObjectKind().GroupVersionKind()
		if gvk.Kind == "PersistentVolumeClaim" {
			continue
		}
		live, err := a.readMetadata(ctx, o)
		if err != nil {
			return Failed(gvk.Kind+" "+o.GetName(), "could not be read", err)
		}
		if live == nil || !metav1.IsControlledBy(live, owner) ||
			!isGenerated(gvk) && live.GetAnnotations()[names.AnnotationCreatedFrom] == "" {
			continue
		}
		if p := Remove(ctx, a.Client, live); p != nil {
			return p
		}
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// FieldManager is the operator's main field manager.
const FieldManager = names.ManagedBy

// Applier writes objects. Set its fields before the first call.
type Applier struct {
	Client client.Client
	// Cached reads from the caches: full kinds, and the metadata of ConfigMaps and Secrets.
	Cached   client.Reader
	Live     client.Reader
	EdgeAPIs objects.EdgeAPIs
}

// Result is the result of Apply.
type Result struct {
	// Deployment, Service and PVC are the objects as the API server returned them; nil if they were not sent.
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	PVC        *corev1.PersistentVolumeClaim
	// Changed counts the created and changed objects.
	Changed int
	// UndoReverted reports that an undo had put an earlier pod template back into the Deployment.
	UndoReverted bool
	// NameTaken reports that an object to create exists and is not the custom resource's own; it may be release 0.9's.
	NameTaken bool
}

// Apply creates or applies the objects in order. A dry run precedes it, so a refusal normally changes nothing. If the
// caches have none of the objects, it first creates what the dry run leaves out: see RemoveCreated.
func (a *Applier) Apply(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, list []objects.Object) (*Result,
	*problem.Problem) {
	result := &Result{}
	var changes []*change
	for _, o := range list {
		c, f := a.compare(ctx, owner, o)
		if f != nil {
			// An earlier attempt may have created objects before the caches had this one.
			result.NameTaken = f.Reason == problem.Conflict || f.Reason == problem.WaitingForRemoval
			return result, f
		}
		if c != nil {
			changes = append(changes, c)
		}
	}
	for _, c := range changes { // before the dry run, which would keep fields that are no longer desired
		if err := a.migrateCreated(ctx, c); err != nil {
			return result, rejected(owner, c, err)
		}
		undone, err := a.revertUndo(ctx, c)
		if err != nil {
			return result, rejected(owner, c, err)
		}
		result.UndoReverted = result.UndoReverted || undone
	}
	if !isUpdate(changes) {
		slices.SortStableFunc(changes, func(a, b *change) int { return creationRank(owner, a) - creationRank(owner, b) })
	}
	if f := a.dryRun(ctx, owner, changes, result); f != nil {
		return result, f
	}
	for _, c := range changes {
		if f := a.write(ctx, owner, c, result); f != nil {
			return result, f
		}
	}
	return result, nil
}

type change struct {
	*unstructured.Unstructured
	gvk      schema.GroupVersionKind
	object   objects.Object // the same object as Unstructured
	live     metav1.Object  // nil if unknown
	orphan   client.Object  // deleted before the creation, or nil
	migrated bool           // server-side apply owns the live object's fields
	desired  [sha256.Size]byte
}

func (c *change) String() string { return c.gvk.Kind + " " + c.GetName() }

// compare returns the change of an object, or nil if it is as desired.
func (a *Applier) compare(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, o objects.Object) (*change,
	*problem.Problem) {
	description := o.GetObjectKind().GroupVersionKind().Kind + " " + o.GetName()
	live, err := a.cached(ctx, o)
	_, isClaim := o.(*corev1.PersistentVolumeClaim)
	if err == nil && live != nil && !metav1.IsControlledBy(live, owner) && (!isClaim || !isUsable(live, owner)) {
		live, err = a.readMetadata(ctx, o) // the cache may lag behind its adoption
	}
	switch {
	case err != nil:
		return nil, Failed(description, "could not be read", err)
	case live != nil && !metav1.IsControlledBy(live, owner) && !isUsable(live, owner):
		return nil, Conflict(description, live, owner)
	}
	return a.difference(ctx, owner, o, live)
}

// difference returns the change of an object that is not foreign, or nil if it is as desired.
func (a *Applier) difference(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, o objects.Object, live client.Object,
) (*change, *problem.Problem) {
	gvk := o.GetObjectKind().GroupVersionKind()
	owned := live != nil && metav1.IsControlledBy(live, owner)
	if owned && isGenerated(gvk) {
		return nil, nil // generated objects are immutable and named by their content
	}
	if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && live != nil {
		return a.claimDifference(ctx, owner, claim, live)
	}
	c, err := newChange(o)
	if err != nil {
		return nil, Failed(gvk.Kind+" "+o.GetName(), "could not be encoded", err)
	}
	if live == nil {
		return c, nil
	}
	if isGenerated(gvk) {
		c.orphan = live
		return c, nil
	}
	return a.changeOf(ctx, o, live)
}

// changeOf returns the change of an existing object, or nil if it is as desired.
func (a *Applier) changeOf(ctx context.Context, o objects.Object, live client.Object) (*change, *problem.Problem) {
	c, err := newChange(o)
	if err != nil {
		return nil, Failed(KindOf(o)+" "+o.GetName(), "could not be encoded", err)
	}
	c.live = live
	unchanged, err := a.isUnchanged(ctx, live, c.Unstructured, c.desired)
	if err != nil {
		return nil, Failed(c.String(), "could not be read", err)
	}
	if unchanged && !isUndone(live) {
		return nil, nil
	}
	return c, nil
}

func newChange(o objects.Object) (*change, error) {
	content, err := objects.Content(o) // without the empty fields of typed objects
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(content)
	return &change{
		Unstructured: &unstructured.Unstructured{Object: content}, gvk: o.GetObjectKind().GroupVersionKind(), object: o,
		desired: sha256.Sum256(text),
	}, err
}

func (a *Applier) write(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, c *change,
	result *Result) *problem.Problem {
	if c.live == nil {
		return a.create(ctx, owner, c, result)
	}
	u := c.Unstructured
	desired := u.DeepCopy()
	err := a.migrateCreated(ctx, c)
	if err == nil && c.gvk.Kind == "Deployment" {
		err = a.handOverReplicas(ctx, u)
	}
	if err == nil {
		err = a.send(ctx, u)
	}
	if c.gvk.Kind == "Service" && apierrors.IsInvalid(err) && !deniedByPolicy(err) {
		u = desired
		err = a.resetPorts(ctx, u)
	}
	if err != nil {
		return rejected(owner, c, err)
	}
	if c.live.GetResourceVersion() != u.GetResourceVersion() {
		result.Changed++
	}
	applied := EmptyLike(c.object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, applied); err != nil {
		return Failed(c.String(), "returned an unreadable response", err)
	}
	result.record(applied)
	return nil
}

func (r *Result) record(o objects.Object) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		r.Deployment = o
	case *corev1.Service:
		r.Service = o
	case *corev1.PersistentVolumeClaim:
		r.PVC = o
	}
}

func (a *Applier) send(ctx context.Context, u *unstructured.Unstructured, options ...client.ApplyOption) error {
	return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		append(options, client.FieldOwner(FieldManager), client.ForceOwnership)...)
}

// resetPorts replaces all ports of a Service and applies it again, because ports merge by number, not by name.
func (a *Applier) resetPorts(ctx context.Context, u *unstructured.Unstructured) error {
	ports, _, err := unstructured.NestedSlice(u.Object, "spec", "ports")
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"ports": ports}})
	if err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: u.GetNamespace(), Name: u.GetName()}}
	if err := a.Client.Patch(ctx, service, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	return a.send(ctx, u)
}

// cached returns the object from the caches, or nil. They hold only objects with the operator's label.
func (a *Applier) cached(ctx context.Context, o objects.Object) (client.Object, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	var found client.Object = MetadataOf(gvk)
	if !isGenerated(gvk) {
		found = o.DeepCopyObject().(client.Object)
	}
	err := a.Cached.Get(ctx, client.ObjectKeyFromObject(o), found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// readMetadata reads the object's metadata from the API server, or returns nil.
func (a *Applier) readMetadata(ctx context.Context, o objects.Object) (client.Object, error) {
	found := MetadataOf(o.GetObjectKind().GroupVersionKind())
	err := a.Live.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// EmptyLike returns an empty object with the same type, namespace and name.
func EmptyLike(o objects.Object) objects.Object {
	empty := reflect.New(reflect.TypeOf(o).Elem()).Interface().(objects.Object)
	empty.GetObjectKind().SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
	empty.SetNamespace(o.GetNamespace())
	empty.SetName(o.GetName())
	return empty
}

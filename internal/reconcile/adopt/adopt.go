// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// legacyObject is an object that release 0.9 makes for a custom resource.
type legacyObject struct {
	kind schema.GroupVersionKind
	name func(resource string) string
	// selector is where the object says which pods it is for; nil where its kind does not.
	selector []string
	// keep reports whether it stays although it is not desired: it holds data.
	keep bool
	// forPods reports whether pods of release 0.9 need it although it is not desired.
	forPods bool
}

// legacyObjects are the objects that release 0.9 makes, but for the ConfigMap that Prune removes. The Deployment comes
// last: until it is adopted, it reports that the adoption is not complete.
func legacyObjects() []legacyObject {
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	matchLabels := []string{"spec", "selector", "matchLabels"}
	return []legacyObject{
		{kind: kind("", "v1", "ServiceAccount"), name: objects.ServiceAccountName},
		{kind: kind("", "v1", "PersistentVolumeClaim"), name: objects.PVCName, keep: true},
		{kind: kind("", "v1", "Service"), name: objects.ServiceName, selector: []string{"spec", "selector"}},
		{kind: kind("autoscaling", "v2", "HorizontalPodAutoscaler"), name: objects.AutoscalerName},
		{kind: kind("policy", "v1", "PodDisruptionBudget"), name: objects.BudgetName, selector: matchLabels},
		{kind: kind("networking.k8s.io", "v1", "NetworkPolicy"), name: objects.NetworkPolicyName,
			selector: []string{"spec", "podSelector", "matchLabels"}},
		{kind: kind("networking.k8s.io", "v1", "Ingress"), name: objects.IngressName},
		// On OpenShift it lets the pods have the user and group that release 0.9 gives them.
		{kind: kind("rbac.authorization.k8s.io", "v1", "RoleBinding"), name: release09.RoleBindingName, forPods: true},
		{kind: kind("apps", "v1", "Deployment"), name: objects.DeploymentName, selector: matchLabels},
	}
}

// Adopt takes over what release 0.9 made for the custom resource and has left, or has written again: its fields become
// the operator's, so that server-side apply can take them away, a lost owner comes back, and what is not desired is
// removed. If a desired object is someone else's, none is adopted. A Deployment whose pod template stays (see
// release09.KeepsTemplate) gets the metadata of the desired one.
func (a *Adopter) Adopt(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment,
	wanted []objects.Object) *problem.Problem {
	// The pod template that adoption kept is about to be replaced.
	releases := live != nil && live.Annotations[objects.AnnotationBuild] == release09.Build && keptTemplate(wanted) == nil
	if live == nil && !release09.Reported(&owner.Status) ||
		live != nil && !release09.Left(live) && !releases && !a.writtenAgain(ctx, owner) {
		return nil
	}
	return a.AdoptInTheWay(ctx, owner, live, wanted)
}

// keptTemplate is the desired Deployment if its pods stay those of release 0.9; nil otherwise.
func keptTemplate(wanted []objects.Object) *appsv1.Deployment {
	for _, o := range wanted {
		if d, ok := o.(*appsv1.Deployment); ok && d.Annotations[objects.AnnotationBuild] == release09.Build {
			return d
		}
	}
	return nil
}

// AdoptInTheWay is Adopt where something exists that the operator did not make.
func (a *Adopter) AdoptInTheWay(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, wanted []objects.Object,
) *problem.Problem {
	adoptions, f := a.plan(ctx, owner, live, wanted)
	if f != nil {
		return f
	}
	for i := range adoptions {
		if err := a.adopt(ctx, owner, &adoptions[i]); err != nil {
			return apply.Failed(adoptions[i].what(), "of release 0.9 could not be adopted", err)
		}
	}
	return nil
}

// Own gives a Deployment of release 0.9 that lost its owner, and what belongs to it but for data, back to a custom
// resource that cannot be adopted: nothing of it shall run on when it is deleted.
func (a *Adopter) Own(ctx context.Context, owner *v1alpha2.LlamaStackDistribution,
	live *appsv1.Deployment) *problem.Problem {
	if live == nil || live.DeletionTimestamp != nil || metav1.GetControllerOf(live) != nil {
		return nil
	}
	for _, old := range legacyObjects() {
		if old.keep {
			continue
		}
		o := apply.MetadataOf(old.kind)
		err := a.Live.Get(ctx, types.NamespacedName{Namespace: owner.Namespace, Name: old.name(owner.Name)}, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		orphan := false
		if err == nil {
			orphan, err = a.isOrphan(ctx, owner, live, &old, o)
		}
		if err == nil && orphan {
			err = own(ctx, a.Client, owner, o)
		}
		if err != nil {
			return apply.Failed(old.kind.Kind+" "+old.name(owner.Name), "of release 0.9 could not be given back to its "+
				"LlamaStackDistribution", err)
		}
	}
	return nil
}

// writtenAgain reports whether release 0.9 has written an object since the Deployment was adopted: someone applied its
// manifest again. What is not cached it never writes alone.
func (a *Adopter) writtenAgain(ctx context.Context, owner *v1alpha2.LlamaStackDistribution) bool {
	for _, cached := range apply.FullKinds() {
		kind := apply.KindOf(cached)
		for _, old := range legacyObjects() {
			key := client.ObjectKey{Namespace: owner.Namespace, Name: old.name(owner.Name)}
			if old.kind.Kind != kind || old.keep || a.Cached.Get(ctx, key, cached) != nil {
				continue
			}
			if release09.Owns(cached, owner.Name) {
				return true
			}
		}
	}
	return false
}

// adoption is what becomes of one object of release 0.9.
type adoption struct {
	*metav1.PartialObjectMetadata
	// own makes the custom resource its controller, take takes its fields, and remove removes it.
	own, take, remove bool
	// metadata are the labels and annotations that it gets; nil where applying it brings them.
	metadata *metav1.ObjectMeta
}

func (d *adoption) what() string { return d.Kind + " " + d.Name }

// plan finds what is to be adopted, and writes nothing.
func (a *Adopter) plan(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, wanted []objects.Object,
) ([]adoption, *problem.Problem) {
	var adoptions []adoption
	for _, old := range legacyObjects() {
		o := apply.MetadataOf(old.kind)
		key := types.NamespacedName{Namespace: owner.Namespace, Name: old.name(owner.Name)}
		what := old.kind.Kind + " " + key.Name
		err := a.Live.Get(ctx, key, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, apply.Failed(what, "could not be read", err)
		}
		isWanted := slices.ContainsFunc(wanted, func(w objects.Object) bool {
			return w.GetObjectKind().GroupVersionKind().Kind == old.kind.Kind && w.GetName() == key.Name
		})
		d := adoption{PartialObjectMetadata: o, take: isWanted, remove: !isWanted && !old.keep}
		if kept := keptTemplate(wanted); kept != nil {
			d.remove = d.remove && !old.forPods
			if old.kind.Kind == "Deployment" {
				d.metadata = &kept.ObjectMeta
			}
		}
		if !metav1.IsControlledBy(o, owner) {
			if d.own, err = a.isOrphan(ctx, owner, live, &old, o); err != nil {
				return nil, apply.Failed(what, "could not be read", err)
			}
			if !d.own && isWanted {
				return nil, apply.Conflict(what, o, owner)
			}
			if !d.own {
				continue // someone else's, and not in the way
			}
			d.own = !d.remove
		}
		adoptions = append(adoptions, d)
	}
	return adoptions, nil
}

// isOrphan reports whether an object is release 0.9's although no controller owns it. A PVC is, where the custom
// resource's own Deployment mounts it.
func (a *Adopter) isOrphan(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, old *legacyObject,
	o *metav1.PartialObjectMetadata,
) (bool, error) {
	if old.keep && metav1.GetControllerOf(o) == nil && live != nil && objects.Mounts(&live.Spec.Template.Spec, o.Name) {
		return true, nil
	}
	if !release09.IsOrphan(o, nil, owner.Name) || old.selector == nil {
		return release09.IsOrphan(o, nil, owner.Name), nil
	}
	whole := &unstructured.Unstructured{}
	whole.SetGroupVersionKind(old.kind)
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(o), whole); err != nil {
		return false, err
	}
	selector, _, err := unstructured.NestedStringMap(whole.Object, old.selector...)
	if err != nil || selector == nil {
		return false, nil //nolint:nilerr // a selector of another form is another selector
	}
	return release09.IsOrphan(o, selector, owner.Name), nil
}

func (a *Adopter) adopt(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, d *adoption) error {
	if d.remove {
		err := a.Client.Delete(ctx, d.PartialObjectMetadata, client.Preconditions{UID: new(d.UID)},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		return client.IgnoreNotFound(err)
	}
	if d.own { // first: an object without an owner is recognized by the fields that are taken then
		if err := own(ctx, a.Client, owner, d.PartialObjectMetadata); err != nil {
			return err
		}
	}
	if !d.take {
		return nil
	}
	return takeFields(ctx, a.Client, owner.Name, d)
}

// own makes the custom resource the controller of an object that has none.
func own(ctx context.Context, writer client.Writer, owner *v1alpha2.LlamaStackDistribution,
	o *metav1.PartialObjectMetadata) error {
	before := o.DeepCopy()
	o.OwnerReferences = append(o.OwnerReferences, *objects.ControllerRef(owner))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return writer.Patch(ctx, o, patch, client.FieldOwner(ownerManager))
}

// ownerManager is the field manager of owners that were given back: an update of the operator's own field manager would
// look as if the operator had created the object.
const ownerManager = objects.ManagedBy + "-owner"

// takeFields rewrites the field managers of an object, and its metadata. The version goes along, so that what was
// written in between is not lost.
func takeFields(ctx context.Context, writer client.Writer, resource string, d *adoption) error {
	o := d.PartialObjectMetadata
	entries := o.ManagedFields
	if o.Kind == "PersistentVolumeClaim" {
		// The class of a PVC cannot be changed, so that applying must not take it away: its fields are nobody's instead.
		entries = slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
			return isLegacy(&e, resource)
		})
	}
	entries, changed, err := takenOver(entries, resource)
	changed = changed || len(entries) < len(o.ManagedFields)
	if err != nil || !changed && d.hasMetadata() {
		return err
	}
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{{}} // so the API server is told to forget them: an empty list would say nothing
	}
	operations := []map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion},
	}
	if _, made := o.Annotations[objects.AnnotationBuild]; d.metadata != nil {
		operations = append(operations,
			map[string]any{"op": "add", "path": "/metadata/labels", "value": labels.Merge(o.Labels, d.metadata.Labels)},
			map[string]any{"op": "add", "path": "/metadata/annotations",
				"value": labels.Merge(o.Annotations, d.metadata.Annotations)})
	} else if made {
		// What release 0.9 wrote into a Deployment of this operator's makes it another one: it is adopted as if for the first
		// time.
		operations = append(operations, map[string]any{"op": "remove",
			"path": "/metadata/annotations/" + strings.ReplaceAll(objects.AnnotationBuild, "/", "~1")})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	return writer.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(apply.FieldManager))
}

// hasMetadata reports whether the object has the labels and annotations that it is to get.
func (d *adoption) hasMetadata() bool {
	return d.metadata == nil || maps.Equal(d.Labels, labels.Merge(d.Labels, d.metadata.Labels)) &&
		maps.Equal(d.Annotations, labels.Merge(d.Annotations, d.metadata.Annotations))
}

// takenOver returns the entries with those of release 0.9 made the operator's: it applied under its own name or that of
// the resource, and created under that of its program.
func takenOver(entries []metav1.ManagedFieldsEntry, resource string) (out []metav1.ManagedFieldsEntry, changed bool,
	err error) {
	out, err = release09.Union(entries, apply.FieldManager, func(e *metav1.ManagedFieldsEntry) bool {
		old := isLegacy(e, resource)
		changed = changed || old
		own := e.Operation == metav1.ManagedFieldsOperationApply && e.Manager == apply.FieldManager && e.Subresource == "" &&
			e.FieldsV1 != nil
		return own || old
	})
	return out, changed, err
}

// isLegacy reports whether release 0.9 made the entry, as a client that cannot apply under the name of the custom
// resource, or whether it belongs to its adoption.
func isLegacy(e *metav1.ManagedFieldsEntry, resource string) bool {
	ownUpdate := e.Operation == metav1.ManagedFieldsOperationUpdate &&
		(e.Manager == apply.FieldManager || e.Manager == ownerManager) && e.Subresource == ""
	oldUpdate := e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager == resource && e.Subresource == ""
	return e.FieldsV1 != nil && (ownUpdate || oldUpdate || release09.HasWritten(e, resource))
}

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
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// legacyObject is an object that release 0.9 makes for a custom resource.
type legacyObject struct {
	kind schema.GroupVersionKind
	name func(resource string) string
	// selector is the path of the object's pod selector; nil if its kind has none.
	selector []string
	// keep reports that adoption keeps the object because it holds data, even if it is not desired.
	keep bool
	// forPods reports that pods of release 0.9 need the object, even if it is not desired.
	forPods bool
}

// legacyObjects returns release 0.9's objects, except the ConfigMap that Prune deletes. The Deployment is last, because
// until then adoption is incomplete.
func legacyObjects() []legacyObject {
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	matchLabels := []string{"spec", "selector", "matchLabels"}
	return []legacyObject{
		{kind: kind("", "v1", "ServiceAccount"), name: names.ServiceAccountName},
		{kind: kind("", "v1", "PersistentVolumeClaim"), name: names.PVCName, keep: true},
		{kind: kind("", "v1", "Service"), name: names.ServiceName, selector: []string{"spec", "selector"}},
		{kind: kind("autoscaling", "v2", "HorizontalPodAutoscaler"), name: names.AutoscalerName},
		{kind: kind("policy", "v1", "PodDisruptionBudget"), name: names.BudgetName, selector: matchLabels},
		{kind: kind("networking.k8s.io", "v1", "NetworkPolicy"), name: names.NetworkPolicyName,
			selector: []string{"spec", "podSelector", "matchLabels"}},
		{kind: kind("networking.k8s.io", "v1", "Ingress"), name: names.IngressName},
		// On OpenShift it allows the pods' user and group of release 0.9.
		{kind: kind("rbac.authorization.k8s.io", "v1", "RoleBinding"), name: release09.RoleBindingName, forPods: true},
		{kind: kind("apps", "v1", "Deployment"), name: names.DeploymentName, selector: matchLabels},
	}
}

// Adopt transfers release 0.9's fields to the operator, restores owners and deletes undesired objects. It does nothing
// if a desired object is foreign.
func (a *Adopter) Adopt(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment,
	desired []objects.Object) *problem.Problem {
	// The kept pod template is about to be replaced.
	replacesTemplate := live != nil && live.Annotations[names.AnnotationBuild] == release09.Build &&
		keptTemplate(desired) == nil
	if live == nil && !release09.OwnsStatus(&owner.Status) ||
		live != nil && !release09.IsUnadopted(live) && !replacesTemplate && !a.isOverwritten(ctx, owner) {
		return nil
	}
	return a.AdoptExisting(ctx, owner, live, desired)
}

// keptTemplate returns the desired Deployment if it keeps the pods of release 0.9, or nil.
func keptTemplate(desired []objects.Object) *appsv1.Deployment {
	for _, o := range desired {
		if d, ok := o.(*appsv1.Deployment); ok && d.Annotations[names.AnnotationBuild] == release09.Build {
			return d
		}
	}
	return nil
}

// AdoptExisting is Adopt for existing objects that the operator did not make.
func (a *Adopter) AdoptExisting(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, desired []objects.Object,
) *problem.Problem {
	adoptions, f := a.plan(ctx, owner, live, desired)
	if f != nil {
		return f
	}
	for i := range adoptions {
		if err := a.adopt(ctx, owner, &adoptions[i]); err != nil {
			return apply.Failed(adoptions[i].String(), "of release 0.9 could not be adopted", err)
		}
	}
	return nil
}

// RestoreOwner restores the owner of release 0.9's Deployment and of its objects without data, so that deleting the
// resource deletes them even if adoption failed.
func (a *Adopter) RestoreOwner(ctx context.Context, owner *v1alpha2.LlamaStackDistribution,
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
			err = setOwner(ctx, a.Client, owner, o)
		}
		if err != nil {
			return apply.Failed(old.kind.Kind+" "+old.name(owner.Name), "of release 0.9 could not be assigned to its "+
				"LlamaStackDistribution", err)
		}
	}
	return nil
}

// isOverwritten reports whether release 0.9 wrote a cached object after the adoption, by an apply of its manifest.
func (a *Adopter) isOverwritten(ctx context.Context, owner *v1alpha2.LlamaStackDistribution) bool {
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

type adoption struct {
	*metav1.PartialObjectMetadata
	// setOwner makes the custom resource its controller, transfer moves its fields to the operator, and remove deletes it.
	setOwner, transfer, remove bool
	// mark records in place of an owner that the custom resource uses the data, which outlives it.
	mark bool
	// metadata are labels and annotations to add; nil if the apply adds them.
	metadata *metav1.ObjectMeta
}

// keepOrphan keeps an unowned object: data without an owner, others with one unless they are removed.
func (d *adoption) keepOrphan(old *legacyObject) {
	d.setOwner, d.mark = !d.remove && !old.keep, old.keep
}

func (d *adoption) String() string { return d.Kind + " " + d.Name }

// plan returns the adoptions, and writes nothing.
func (a *Adopter) plan(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, desired []objects.Object,
) ([]adoption, *problem.Problem) {
	var adoptions []adoption
	for _, old := range legacyObjects() {
		o := apply.MetadataOf(old.kind)
		key := types.NamespacedName{Namespace: owner.Namespace, Name: old.name(owner.Name)}
		description := old.kind.Kind + " " + key.Name
		err := a.Live.Get(ctx, key, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, apply.Failed(description, "could not be read", err)
		}
		isDesired := slices.ContainsFunc(desired, func(w objects.Object) bool {
			return w.GetObjectKind().GroupVersionKind().Kind == old.kind.Kind && w.GetName() == key.Name
		})
		d := adoption{PartialObjectMetadata: o, transfer: isDesired, remove: !isDesired && !old.keep}
		if kept := keptTemplate(desired); kept != nil {
			d.remove = d.remove && !old.forPods
			if old.kind.Kind == "Deployment" {
				d.metadata = &kept.ObjectMeta
			}
		}
		if !metav1.IsControlledBy(o, owner) {
			if d.setOwner, err = a.isOrphan(ctx, owner, live, &old, o); err != nil {
				return nil, apply.Failed(description, "could not be read", err)
			}
			if !d.setOwner && isDesired {
				return nil, apply.Conflict(description, o, owner)
			}
			if !d.setOwner {
				continue // foreign, but not in the way
			}
			d.keepOrphan(&old)
		}
		adoptions = append(adoptions, d)
	}
	return adoptions, nil
}

// isOrphan reports whether an unowned object is release 0.9's. A PVC is if the resource's own Deployment mounts it.
func (a *Adopter) isOrphan(
	ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, old *legacyObject,
	o *metav1.PartialObjectMetadata,
) (bool, error) {
	if old.keep && metav1.GetControllerOf(o) == nil && live != nil && objects.MountsPVC(&live.Spec.Template.Spec, o.Name) {
		return true, nil
	}
	if !release09.IsOrphan(o, nil, owner.Name) || old.selector == nil {
		return release09.IsOrphan(o, nil, owner.Name), nil
	}
	full := &unstructured.Unstructured{}
	full.SetGroupVersionKind(old.kind)
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(o), full); err != nil {
		return false, err
	}
	selector, _, err := unstructured.NestedStringMap(full.Object, old.selector...)
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
	if d.mark {
		if err := mark(ctx, a.Client, owner, d.PartialObjectMetadata); err != nil {
			return err
		}
	}
	if d.setOwner { // first, because orphans are recognized by the fields that transferFields transfers
		if err := setOwner(ctx, a.Client, owner, d.PartialObjectMetadata); err != nil {
			return err
		}
	}
	if !d.transfer {
		return nil
	}
	return transferFields(ctx, a.Client, owner.Name, d)
}

// setOwner makes the custom resource the controller of an object without controller.
func setOwner(ctx context.Context, writer client.Writer, owner *v1alpha2.LlamaStackDistribution,
	o *metav1.PartialObjectMetadata) error {
	before := o.DeepCopy()
	o.OwnerReferences = append(o.OwnerReferences, *names.ControllerRef(owner))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return writer.Patch(ctx, o, patch, client.FieldOwner(ownerManager))
}

// mark records the custom resource that uses a PVC without owner.
func mark(ctx context.Context, writer client.Writer, owner *v1alpha2.LlamaStackDistribution,
	o *metav1.PartialObjectMetadata) error {
	before := o.DeepCopy()
	metav1.SetMetaDataAnnotation(&o.ObjectMeta, names.AnnotationAdoptedBy, owner.Name)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return writer.Patch(ctx, o, patch, client.FieldOwner(markManager))
}

// markManager is the field manager of AnnotationAdoptedBy, which no apply of the operator removes.
const markManager = names.ManagedBy + "-adoption"

// ownerManager is the field manager of restored owners; with the operator's own, the object would look created by it.
const ownerManager = names.ManagedBy + "-owner"

// transferFields transfers an object's fields to the operator, and adds metadata, unless a concurrent write conflicts.
func transferFields(ctx context.Context, writer client.Writer, resource string, d *adoption) error {
	o := d.PartialObjectMetadata
	entries := o.ManagedFields
	if o.Kind == "PersistentVolumeClaim" {
		// A PVC's class is immutable, so no manager may own these fields; otherwise an apply would remove them.
		entries = slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
			return isLegacy(&e, resource)
		})
	}
	entries, changed, err := mergeManagers(entries, resource)
	changed = changed || len(entries) < len(o.ManagedFields)
	if err != nil || !changed && d.hasMetadata() {
		return err
	}
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{{}} // an empty list would have no effect
	}
	operations := []map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion},
	}
	if _, hasBuild := o.Annotations[names.AnnotationBuild]; d.metadata != nil {
		operations = append(operations,
			map[string]any{"op": "add", "path": "/metadata/labels", "value": labels.Merge(o.Labels, d.metadata.Labels)},
			map[string]any{"op": "add", "path": "/metadata/annotations",
				"value": labels.Merge(o.Annotations, d.metadata.Annotations)})
	} else if hasBuild {
		// A Deployment that release 0.9 wrote again is adopted as if for the first time.
		operations = append(operations, map[string]any{"op": "remove",
			"path": "/metadata/annotations/" + strings.ReplaceAll(names.AnnotationBuild, "/", "~1")})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	return writer.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(apply.FieldManager))
}

// hasMetadata reports whether the object already has the labels and annotations to add.
func (d *adoption) hasMetadata() bool {
	return d.metadata == nil || maps.Equal(d.Labels, labels.Merge(d.Labels, d.metadata.Labels)) &&
		maps.Equal(d.Annotations, labels.Merge(d.Annotations, d.metadata.Annotations))
}

// mergeManagers returns the entries with release 0.9's, which has several manager names, merged into the operator's.
func mergeManagers(entries []metav1.ManagedFieldsEntry, resource string) (out []metav1.ManagedFieldsEntry, changed bool,
	err error) {
	out, err = release09.MergeEntries(entries, apply.FieldManager, func(e *metav1.ManagedFieldsEntry) bool {
		old := isLegacy(e, resource)
		changed = changed || old
		own := e.Operation == metav1.ManagedFieldsOperationApply && e.Manager == apply.FieldManager && e.Subresource == "" &&
			e.FieldsV1 != nil
		return own || old
	})
	return out, changed, err
}

// isLegacy reports whether release 0.9, a client under the resource's name, or the adoption made the entry.
func isLegacy(e *metav1.ManagedFieldsEntry, resource string) bool {
	ownUpdate := e.Operation == metav1.ManagedFieldsOperationUpdate &&
		(e.Manager == apply.FieldManager || e.Manager == ownerManager) && e.Subresource == ""
	oldUpdate := e.Operation == metav1.ManagedFieldsOperationUpdate && e.Manager == resource && e.Subresource == ""
	return e.FieldsV1 != nil && (ownUpdate || oldUpdate || release09.IsWriter(e, resource))
}

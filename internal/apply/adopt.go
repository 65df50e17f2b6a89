// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// creator is the field manager of release 0.9 where it created an object: the name of its program.
const creator = "manager"

// legacyObject is an object that release 0.9 makes for a resource.
type legacyObject struct {
	kind schema.GroupVersionKind
	name func(resource string) string
	// keep tells that it stays although nobody wants it: it holds data.
	keep bool
}

// legacyObjects are the objects that release 0.9 makes, obsolete ones included. Its ConfigMap with certificate authorities is not
// among them: its pods need that until they are gone. Prune removes it then.
func legacyObjects() []legacyObject {
	kind := func(group, version, kind string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
	}
	return []legacyObject{
		{kind("", "v1", "ServiceAccount"), objects.ServiceAccountName, false},
		{kind("", "v1", "PersistentVolumeClaim"), objects.ClaimName, true},
		{kind("apps", "v1", "Deployment"), objects.DeploymentName, false},
		{kind("", "v1", "Service"), objects.ServiceName, false},
		{kind("autoscaling", "v2", "HorizontalPodAutoscaler"), objects.AutoscalerName, false},
		{kind("policy", "v1", "PodDisruptionBudget"), objects.BudgetName, false},
		{kind("networking.k8s.io", "v1", "NetworkPolicy"), objects.NetworkPolicyName, false},
		{kind("networking.k8s.io", "v1", "Ingress"), objects.IngressName, false},
		{kind("rbac.authorization.k8s.io", "v1", "RoleBinding"), objects.LegacyRoleBindingName, false},
	}
}

// Adopt takes over what release 0.9 made for the resource, where the live Deployment is still as that release left it, or is
// not there: the fields that it set become the operator's own, so that server-side apply can take away what is not wanted any
// more, and what nobody wants at all is removed. It can be repeated; once the operator has applied the Deployment it does nothing.
func (a *Applier) Adopt(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, live *appsv1.Deployment, wanted []objects.Object) *fault.Fault {
	if live != nil && !objects.IsForeignBuild(live) {
		return nil
	}
	for _, old := range legacyObjects() {
		o := metadataOf(old.kind)
		key := types.NamespacedName{Namespace: owner.Namespace, Name: old.name(owner.Name)}
		what := old.kind.Kind + " " + key.Name
		err := a.Live.Get(ctx, key, o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return failed(what, "could not be read", err)
		}
		isWanted := slices.ContainsFunc(wanted, func(w objects.Object) bool {
			return w.GetObjectKind().GroupVersionKind().Kind == old.kind.Kind && w.GetName() == key.Name
		})
		switch {
		case metav1.GetControllerOf(o) == nil && old.keep && live != nil && objects.Mounts(&live.Spec.Template.Spec, key.Name):
			err = a.claim(ctx, owner, o)
		case !metav1.IsControlledBy(o, owner): // applying it will tell
		case isWanted:
			err = a.takeFields(ctx, owner.Name, o)
		case !old.keep:
			err = a.Client.Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())}, client.PropagationPolicy(metav1.DeletePropagationBackground))
			err = client.IgnoreNotFound(err)
		}
		if err != nil {
			return failed(what, "of release 0.9 could not be taken over", err)
		}
	}
	return nil
}

// claim makes a claim that the resource's own Deployment mounts, and that nobody controls, the resource's.
func (a *Applier) claim(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, o *metav1.PartialObjectMetadata) error {
	before := o.DeepCopy()
	o.OwnerReferences = append(o.OwnerReferences, *objects.ControllerRef(owner))
	return a.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(FieldManager))
}

// takeFields rewrites the field managers of an object. The version goes along, so that what was written in between is not lost.
func (a *Applier) takeFields(ctx context.Context, resource string, o *metav1.PartialObjectMetadata) error {
	entries := o.ManagedFields
	if o.Kind == "PersistentVolumeClaim" {
		// The class of a claim cannot be changed, so that applying must not take it away: its fields are nobody's instead.
		entries = slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool { return isLegacy(&e, resource) })
	}
	entries, changed, err := takenOver(entries, resource)
	changed = changed || len(entries) < len(o.ManagedFields)
	if err != nil || !changed {
		return err
	}
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{{}} // so the API server is told to forget them: an empty list would say nothing
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion},
	})
	if err != nil {
		return err
	}
	return a.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
}

// takenOver returns the entries with those of release 0.9 made the operator's: it applied under its own name or that of the
// resource, and created under that of its program.
func takenOver(entries []metav1.ManagedFieldsEntry, resource string) (out []metav1.ManagedFieldsEntry, changed bool, err error) {
	all := &fieldpath.Set{}
	mine := metav1.ManagedFieldsEntry{Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1"}
	for i := range entries {
		e := &entries[i]
		own := e.Operation == metav1.ManagedFieldsOperationApply && e.Manager == FieldManager && e.Subresource == "" && e.FieldsV1 != nil
		old := isLegacy(e, resource)
		if !own && !old {
			out = append(out, *e)
			continue
		}
		changed = changed || old
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, false, err
		}
		all = all.Union(set)
		mine.APIVersion = e.APIVersion
		if mine.Time == nil || e.Time != nil && mine.Time.Before(e.Time) {
			mine.Time = e.Time
		}
	}
	if all.Empty() {
		return out, changed, nil
	}
	raw, err := all.ToJSON()
	if err != nil {
		return nil, false, err
	}
	mine.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(out, mine), changed, nil
}

// isLegacy tells whether release 0.9 made the entry.
func isLegacy(e *metav1.ManagedFieldsEntry, resource string) bool {
	if e.Subresource != "" || e.FieldsV1 == nil {
		return false
	}
	if e.Operation == metav1.ManagedFieldsOperationApply {
		return e.Manager == resource && e.Manager != FieldManager
	}
	return slices.Contains([]string{creator, resource, FieldManager}, e.Manager)
}

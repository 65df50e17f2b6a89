// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// UpdateManager is release 0.9's field manager for create and update; for apply it is the name of the custom resource.
const UpdateManager = "manager"

// MayBeWriter reports whether a managed fields entry may be release 0.9's, without knowing the custom resource.
func MayBeWriter(e *metav1.ManagedFieldsEntry) bool {
	if e.Subresource != "" {
		return false
	}
	if e.Operation == metav1.ManagedFieldsOperationApply {
		return e.Manager != names.ManagedBy && e.Manager != names.ReplicasManager
	}
	return e.Manager == UpdateManager
}

// IsWriter reports whether a managed fields entry is release 0.9's.
func IsWriter(e *metav1.ManagedFieldsEntry, resource string) bool {
	return MayBeWriter(e) && (e.Operation != metav1.ManagedFieldsOperationApply || e.Manager == resource)
}

// Owns reports whether release 0.9 owns fields: the object is not adopted yet, or release 0.9 has applied it since.
// Updates by "manager" after adoption do not count, because many programs have this name.
func Owns(o metav1.Object, resource string) bool {
	entries := o.GetManagedFields()
	adopted := slices.ContainsFunc(entries, isOwn)
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return IsWriter(&e, resource) && (e.Operation == metav1.ManagedFieldsOperationApply || !adopted)
	})
}

func isOwn(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == names.ManagedBy && e.Subresource == ""
}

// MergeEntries merges the matching entries into one Apply entry of the manager.
func MergeEntries(entries []metav1.ManagedFieldsEntry, manager string,
	matches func(*metav1.ManagedFieldsEntry) bool) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	all := &fieldpath.Set{}
	merged := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
		FieldsType: "FieldsV1"}
	for i := range entries {
		e := &entries[i]
		if !matches(e) {
			out = append(out, *e)
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		all = all.Union(set)
		merged.APIVersion = e.APIVersion
		if merged.Time == nil || e.Time != nil && merged.Time.Before(e.Time) {
			merged.Time = e.Time
		}
	}
	if all.Empty() {
		return out, nil
	}
	raw, err := all.ToJSON()
	if err != nil {
		return nil, err
	}
	merged.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(out, merged), nil
}

// Writers returns the managed fields that Owns and IsOrphan need, without field sets. It returns nil if only this
// operator applies and controls the object.
func Writers(o metav1.Object) []metav1.ManagedFieldsEntry {
	var kept []metav1.ManagedFieldsEntry
	entries := o.GetManagedFields()
	adopted := slices.ContainsFunc(entries, isOwn)
	for i := range entries {
		e := &entries[i]
		old := MayBeWriter(e) && (e.Operation == metav1.ManagedFieldsOperationApply || !adopted)
		if old || isOwn(*e) && metav1.GetControllerOf(o) == nil {
			kept = append(kept, metav1.ManagedFieldsEntry{Manager: e.Manager, Operation: e.Operation})
		}
	}
	return kept
}

// OwnsStatus reports whether release 0.9 wrote the status last: the Ready condition is missing.
func OwnsStatus(s *v1alpha2.LlamaStackDistributionStatus) bool {
	return (s.Phase != "" || len(s.Conditions) > 0) && meta.FindStatusCondition(s.Conditions,
		v1alpha2.ConditionReady) == nil
}

// IsUnadopted reports whether a Deployment is not adopted yet, or release 0.9 has written it since.
func IsUnadopted(d *appsv1.Deployment) bool {
	return d != nil && (d.Annotations[names.AnnotationBuild] == "" || Owns(d, d.Name))
}

// Build is the value of names.AnnotationBuild while an adopted Deployment keeps release 0.9's pod template.
const Build = "0.9"

// KeepsTemplate reports whether adoption keeps the pod template, because this operator never applied one. A template
// that release 0.9 merged into this operator's must be replaced.
func KeepsTemplate(d *appsv1.Deployment) bool {
	if d == nil || names.HasNewPods(&d.Spec.Template) {
		return false
	}
	_, applied := d.Annotations[names.AnnotationInputHash]
	return d.Annotations[names.AnnotationBuild] == Build || d.Annotations[names.AnnotationBuild] == "" && !applied
}

// IsOrphan reports whether an object of either operator has lost its controller, as release 0.9 causes for some
// Deployments. selector is nil for kinds without one.
func IsOrphan(o metav1.Object, selector map[string]string, resource string) bool {
	return metav1.GetControllerOf(o) == nil && o.GetLabels()[names.LabelManagedBy] == names.ManagedBy &&
		(Owns(o, resource) || slices.ContainsFunc(o.GetManagedFields(), isOwn)) &&
		(selector == nil || maps.Equal(selector, names.Selector(resource)))
}

// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// undoManager is the field manager of "kubectl rollout undo". Other commands of kubectl that write Deployments have
// their own.
const undoManager = "kubectl"

// IsUndo reports whether "kubectl rollout undo" may have made the entry.
func IsUndo(e *metav1.ManagedFieldsEntry) bool {
	return e.Manager == undoManager && e.Operation == metav1.ManagedFieldsOperationUpdate && e.Subresource == "" &&
		e.FieldsV1 != nil
}

// isPutBack reports whether an undo puts the field back and the operator may remove it: a field of the pod template,
// except foreign labels and annotations such as that of a restart, or an annotation of the operator.
func isPutBack(p fieldpath.Path) bool {
	field := func(i int) string {
		if i >= len(p) || p[i].FieldName == nil {
			return ""
		}
		return *p[i].FieldName
	}
	switch {
	case field(0) == "spec" && field(1) == "template" && field(2) == "metadata":
		return strings.HasPrefix(field(4), ownPrefix)
	case field(0) == "spec" && field(1) == "template":
		return len(p) > 2
	}
	return field(0) == "metadata" && field(1) == "annotations" && strings.HasPrefix(field(2), ownPrefix)
}

const ownPrefix = "llamastack.io/"

// revertUndo makes the operator own what an undo put back, so that the next apply removes what is not desired. It
// reports whether there was an undo.
func (a *Applier) revertUndo(ctx context.Context, c *change) (undone bool, err error) {
	if c.live == nil || c.gvk.Kind != "Deployment" {
		return false, nil
	}
	if _, undone, err = withoutUndo(c.live.GetManagedFields()); err != nil || !undone {
		return false, err
	}
	return true, retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write the object, too
		o := MetadataOf(c.gvk)
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		entries, undone, err := withoutUndo(o.ManagedFields)
		if err != nil || !undone {
			return err
		}
		patch, err := json.Marshal([]map[string]any{
			{"op": "replace", "path": "/metadata/managedFields", "value": entries},
			{"op": "replace", "path": "/metadata/resourceVersion", "value": o.ResourceVersion},
		})
		if err != nil {
			return err
		}
		return a.Client.Patch(ctx, o, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
	})
}

// isUndone reports whether an undo put fields back that were not reverted.
func isUndone(o metav1.Object) bool {
	_, undone, err := withoutUndo(o.GetManagedFields())
	return undone && err == nil
}

// withoutUndo moves the fields that an undo put back to the operator's entry, except those in list items that another
// client added. It reports whether there are any.
func withoutUndo(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry, undone bool, err error) {
	if !slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return IsUndo(&e) }) {
		return entries, false, nil
	}
	out, putBack, foreign, err := separateUndo(entries)
	if err != nil || putBack.Empty() {
		return entries, false, err
	}
	taken := &fieldpath.Set{}
	for p := range putBack.All() {
		if !isInForeignItem(p, foreign) {
			taken.Insert(p.Copy())
		}
	}
	for i := range out {
		e := &out[i]
		if e.Manager != FieldManager || e.Operation != metav1.ManagedFieldsOperationApply || e.Subresource != "" {
			continue
		}
		own, err := setOf(e)
		if err != nil {
			return nil, false, err
		}
		if e.FieldsV1, err = fieldsOf(own.Union(taken)); err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
}

// separateUndo returns the entries without the fields that an undo put back, these fields, and those of other clients.
func separateUndo(entries []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry,
	putBack, foreign *fieldpath.Set, err error) {
	putBack, foreign = &fieldpath.Set{}, &fieldpath.Set{}
	for i := range entries {
		e := entries[i]
		if e.Manager == FieldManager && e.Subresource == "" || e.FieldsV1 == nil {
			out = append(out, e)
			continue
		}
		set, err := setOf(&e)
		if err != nil {
			return nil, nil, nil, err
		}
		if !IsUndo(&e) {
			foreign = foreign.Union(set)
			out = append(out, e)
			continue
		}
		kept := &fieldpath.Set{}
		for p := range set.All() {
			if isPutBack(p) {
				putBack.Insert(p.Copy())
			} else {
				kept.Insert(p.Copy())
			}
		}
		if kept.Empty() {
			continue
		}
		if e.FieldsV1, err = fieldsOf(kept); err != nil {
			return nil, nil, nil, err
		}
		out = append(out, e)
	}
	return out, putBack, foreign, nil
}

// isInForeignItem reports whether another client added an item of a list that has the field.
func isInForeignItem(p fieldpath.Path, foreign *fieldpath.Set) bool {
	for i := range p {
		if p[i].Key != nil && foreign.Has(p[:i+1]) {
			return true
		}
	}
	return false
}

func setOf(e *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	err := set.FromJSON(e.FieldsV1.GetRawReader())
	return set, err
}

func fieldsOf(set *fieldpath.Set) (*metav1.FieldsV1, error) {
	raw, err := set.ToJSON()
	return metav1.NewFieldsV1(string(raw)), err
}

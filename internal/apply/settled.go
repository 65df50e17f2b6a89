// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settled reads the object from the API server and returns it where applying the desired one would change nothing: after a restart, or
// after someone else wrote the object, the operator does not know what it applied. It returns nil where something is to be applied.
func (a *Applier) settled(ctx context.Context, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(desired.GroupVersionKind())
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	if isApplied(live, desired) {
		return live, nil
	}
	return nil, nil
}

// isApplied reports whether the operator's fields of the live object are those of the desired one, no more and no fewer, with the same
// values. It may say no where applying would change nothing, but never yes where it would change something.
func isApplied(live, desired *unstructured.Unstructured) bool {
	var own []metav1.ManagedFieldsEntry
	for _, e := range live.GetManagedFields() {
		if e.Manager == FieldManager && e.Subresource == "" {
			own = append(own, e)
		}
	}
	if len(own) != 1 || own[0].Operation != metav1.ManagedFieldsOperationApply || own[0].FieldsV1 == nil {
		return false
	}
	var fields map[string]any
	if err := json.Unmarshal(own[0].FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	return sameFields(fields, withoutIdentity(desired.Object), live.Object)
}

// withoutIdentity leaves out what no field manager owns.
func withoutIdentity(object map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range object {
		if k != "apiVersion" && k != "kind" {
			out[k] = v
		}
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		kept := map[string]any{}
		for k, v := range metadata {
			if k != "name" && k != "namespace" {
				kept[k] = v
			}
		}
		out["metadata"] = kept
	}
	return out
}

// sameFields reports whether the desired value has exactly the fields, and the live one has them with the same values. The fields are in
// the form of metadata.managedFields: "f:" and a name, "k:" and the keys of an item of a list, "v:" and an item; none of them means
// the whole value.
func sameFields(fields map[string]any, desired, live any) bool {
	count := 0
	for name, below := range fields {
		if name == "." {
			continue
		}
		count++
		next, ok := below.(map[string]any)
		if !ok {
			return false
		}
		d, inDesired := step(desired, name)
		l, inLive := step(live, name)
		if !inDesired || !inLive || !sameFields(next, d, l) {
			return false
		}
	}
	if count == 0 {
		return sameValue(desired, live)
	}
	return count == size(desired)
}

// defaulted is what the API server adds inside of values that are owned as a whole.
var defaulted = map[string]any{"apiVersion": "v1", "divisor": "0", "expirationSeconds": int64(3600)}

// sameValue reports whether two values are equal but for what the API server adds.
func sameValue(desired, live any) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for name, value := range l {
			if _, found := d[name]; !found && value != defaulted[name] {
				return false
			}
		}
		for name, value := range d {
			if !sameValue(value, l[name]) {
				return false
			}
		}
		return ok
	case []any:
		l, ok := live.([]any)
		return ok && slices.EqualFunc(d, l, sameValue)
	}
	return equality.Semantic.DeepEqual(desired, live)
}

// step goes to the part of the value that a name of managedFields means.
func step(value any, name string) (any, bool) {
	kind, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "f":
		m, _ := value.(map[string]any)
		part, found := m[rest]
		return part, found
	case "k":
		var keys map[string]any
		decoder := json.NewDecoder(strings.NewReader(rest))
		decoder.UseNumber()
		list, _ := value.([]any)
		if decoder.Decode(&keys) != nil {
			return nil, false
		}
		i := slices.IndexFunc(list, func(item any) bool { return hasKeys(item, keys) })
		if i < 0 {
			return nil, false
		}
		return list[i], true
	case "v":
		list, _ := value.([]any)
		i := slices.IndexFunc(list, func(item any) bool { raw, err := json.Marshal(item); return err == nil && string(raw) == rest })
		if i < 0 {
			return nil, false
		}
		return list[i], true
	}
	return nil, false
}

func hasKeys(item any, keys map[string]any) bool {
	m, _ := item.(map[string]any)
	for k, want := range keys {
		got, err := json.Marshal(m[k])
		text, wantErr := json.Marshal(want)
		if err != nil || wantErr != nil || !bytes.Equal(got, text) {
			return false
		}
	}
	return len(m) > 0
}

func size(value any) int {
	switch v := value.(type) {
	case map[string]any:
		return len(v)
	case []any:
		return len(v)
	}
	return 0
}

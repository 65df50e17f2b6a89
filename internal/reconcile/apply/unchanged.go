// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// isUnchanged reports whether applying the desired object would change nothing, reading it live if only its metadata is
// known.
func (a *Applier) isUnchanged(ctx context.Context, live client.Object, desired *unstructured.Unstructured,
	hash [sha256.Size]byte) (bool, error) {
	full := &unstructured.Unstructured{}
	if _, partial := live.(*metav1.PartialObjectMetadata); partial {
		full.SetGroupVersionKind(desired.GroupVersionKind())
		if err := a.Live.Get(ctx, client.ObjectKeyFromObject(desired), full); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	} else {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
		if err != nil {
			return false, err
		}
		full.Object = content
	}
	return isApplied(full, desired, hash), nil
}

// isApplied reports whether the operator owns exactly the desired fields of the live object, with the same values. In a
// created object it also owns defaults, so the annotation must match instead.
func isApplied(live, desired *unstructured.Unstructured, hash [sha256.Size]byte) bool {
	var own []metav1.ManagedFieldsEntry
	for _, e := range live.GetManagedFields() {
		if e.Manager == FieldManager && e.Subresource == "" {
			own = append(own, e)
		}
	}
	if len(own) != 1 || own[0].FieldsV1 == nil {
		return false
	}
	created := own[0].Operation == metav1.ManagedFieldsOperationUpdate
	if created && live.GetAnnotations()[names.AnnotationCreatedFrom] != hex.EncodeToString(hash[:]) {
		return false
	}
	var fields map[string]any
	if err := json.Unmarshal(own[0].FieldsV1.GetRawBytes(), &fields); err != nil {
		return false
	}
	return (&comparison{created}).sameFields(fields, withoutIdentity(desired.Object), live.Object)
}

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

// comparison compares fields; more allows fields that are not desired.
type comparison struct{ allowExtra bool }

// sameFields reports whether desired has exactly the given fields, in the form of metadata.managedFields ("f:" and a
// name, "k:" and keys of a list item, "v:" and an item; none means the whole value), and live the same values.
func (c *comparison) sameFields(fields map[string]any, desired, live any) bool {
	count, hasFields := 0, false
	for name, nested := range fields {
		if name == "." {
			continue
		}
		hasFields = true
		next, ok := nested.(map[string]any)
		if !ok {
			return false
		}
		d, inDesired := step(desired, name)
		if !inDesired && c.allowExtra {
			continue
		}
		l, inLive := step(live, name)
		if !inDesired || !inLive || !c.sameFields(next, d, l) {
			return false
		}
		count++
	}
	if !hasFields {
		return sameValue(desired, live)
	}
	return count == size(desired)
}

// apiDefaults are the API server's defaults inside of atomic values.
var apiDefaults = map[string]any{"apiVersion": "v1", "divisor": "0", "expirationSeconds": int64(3600)}

// sameValue reports whether two values are equal except for the API server's defaults.
func sameValue(desired, live any) bool {
	switch d := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		for name, value := range l {
			if _, found := d[name]; !found && value != apiDefaults[name] {
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

// step returns the part of the value that a name of managedFields refers to.
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
		i := slices.IndexFunc(list, func(item any) bool {
			raw, err := json.Marshal(item)
			return err == nil && string(raw) == rest
		})
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

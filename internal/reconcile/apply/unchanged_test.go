// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

const settledFields = `{"f:metadata":{"f:labels":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u1\"}":{}}},
	"f:spec":{"f:ports":{"k:{\"port\":8321,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{}}},"f:selector":{},"f:names":{"v:\"x\"":{}}}}`

const settledObject = `
apiVersion: v1
kind: Service
metadata: {name: s, namespace: n, labels: {a: b}, ownerReferences: [{uid: u1, name: o}]}
spec:
  ports: [{name: http, port: 8321, protocol: TCP}]
  selector: {app: x}
  names: [x]
`

func tree(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// Proves: R56, L-03, L-04 (equal fields of the operator are not sent; another value, an extra or missing field, or
// fields of an earlier write are).
func TestIsApplied(t *testing.T) {
	set := func(value any, path ...string) func(u *unstructured.Unstructured) {
		return func(u *unstructured.Unstructured) {
			if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	own := fakecluster.Entry(FieldManager, "Apply", settledFields, "")
	for name, c := range map[string]struct {
		live, desired func(*unstructured.Unstructured)
		entries       []metav1.ManagedFieldsEntry
		want          bool
	}{
		"the same":              {nil, nil, []metav1.ManagedFieldsEntry{own}, true},
		"others have added":     {set("c", "metadata", "labels", "theirs"), nil, []metav1.ManagedFieldsEntry{own, fakecluster.Entry("kubectl", "Update", `{}`, "")}, true},
		"another value":         {set("other", "metadata", "labels", "a"), nil, []metav1.ManagedFieldsEntry{own}, false},
		"another atomic value":  {set("y", "spec", "selector", "app"), nil, []metav1.ManagedFieldsEntry{own}, false},
		"one more is desired":   {nil, set("d", "metadata", "labels", "c"), []metav1.ManagedFieldsEntry{own}, false},
		"one less is desired":   {nil, set(map[string]any{}, "metadata", "labels"), []metav1.ManagedFieldsEntry{own}, false},
		"an item less":          {nil, set([]any{}, "spec", "names"), []metav1.ManagedFieldsEntry{own}, false},
		"an item more":          {nil, set([]any{"x", "y"}, "spec", "names"), []metav1.ManagedFieldsEntry{own}, false},
		"a renumbered port":     {set([]any{map[string]any{"name": "http", "port": int64(1), "protocol": "TCP"}}, "spec", "ports"), nil, []metav1.ManagedFieldsEntry{own}, false},
		"defaulted":             {set(map[string]any{"app": "x", "apiVersion": "v1"}, "spec", "selector"), nil, []metav1.ManagedFieldsEntry{own}, true},
		"not by default":        {set(map[string]any{"app": "x", "apiVersion": "v2"}, "spec", "selector"), nil, []metav1.ManagedFieldsEntry{own}, false},
		"a part gone":           {set(map[string]any{}, "spec", "selector"), nil, []metav1.ManagedFieldsEntry{own}, false},
		"never applied":         {nil, nil, nil, false},
		"updated by itself":     {nil, nil, []metav1.ManagedFieldsEntry{own, fakecluster.Entry(FieldManager, "Update", `{}`, "")}, false},
		"of a subresource only": {nil, nil, []metav1.ManagedFieldsEntry{fakecluster.Entry(FieldManager, "Apply", settledFields, "status")}, false},
		"damaged":               {nil, nil, []metav1.ManagedFieldsEntry{fakecluster.Entry(FieldManager, "Apply", `[]`, "")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			live, desired := tree(t, settledObject), tree(t, settledObject)
			live.SetManagedFields(c.entries)
			if c.live != nil {
				c.live(live)
			}
			if c.desired != nil {
				c.desired(desired)
			}
			if got := isApplied(live, desired, [sha256.Size]byte{1}); got != c.want {
				t.Errorf("applied: %v, want %v", got, c.want)
			}
		})
	}
}

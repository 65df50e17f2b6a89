// SPDX-License-Identifier: Apache-2.0

package downgrade

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
		APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// Proves: R21, R78 (fields of others stay theirs, and a second run changes nothing).
func TestHandoverKeepsForeignFields(t *testing.T) {
	others := []metav1.ManagedFieldsEntry{
		entry("llama-stack-operator-replicas", "Apply", "", `{"f:spec":{"f:replicas":{}}}`),
		entry("kubectl", "Update", "", `{"f:metadata":{"f:labels":{"f:mine":{}}}}`),
		entry("kube-controller-manager", "Update", "status", `{"f:status":{}}`),
	}
	before := append([]metav1.ManagedFieldsEntry{
		entry("llama-stack-operator", "Apply", "", `{"f:spec":{"f:a":{}}}`),
		entry("llama-stack-operator", "Update", "", `{"f:spec":{"f:b":{}}}`),
		entry("my-stack", "Apply", "", `{"f:spec":{"f:c":{}}}`),
	}, others...)
	after, err := mergeManagers(before, "my-stack")
	if err != nil {
		t.Fatal(err)
	}
	want := append(append([]metav1.ManagedFieldsEntry{}, others...), entry("my-stack", "Apply", "", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`))
	if diff := cmp.Diff(texts(want), texts(after)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	again, err := mergeManagers(after, "my-stack")
	if diff := cmp.Diff(texts(after), texts(again)); diff != "" || err != nil {
		t.Errorf("again: %v\n%s", err, diff)
	}
	if _, err := mergeManagers([]metav1.ManagedFieldsEntry{entry("llama-stack-operator", "Apply", "", `[]`)}, "my-stack"); err == nil {
		t.Error("what cannot be read is no error")
	}
}

func texts(entries []metav1.ManagedFieldsEntry) []string {
	var list []string
	for i := range entries {
		e := &entries[i]
		list = append(list, strings.Join([]string{e.Manager, string(e.Operation), e.Subresource, e.FieldsV1.GetRawString()}, " "))
	}
	return list
}

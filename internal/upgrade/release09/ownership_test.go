// SPDX-License-Identifier: Apache-2.0

package release09_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Proves: R78, L-08 (managers and owners decide; an update by "manager", a common name, does not count after this
// operator's apply).
func TestObjectOwnership(t *testing.T) {
	entry := func(manager, operation, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource}
	}
	own, created, applied := entry("llama-stack-operator", "Apply", ""), entry("manager", "Update", ""), entry("my-stack", "Apply", "")
	replicas, status := entry("llama-stack-operator-replicas", "Apply", ""), entry("manager", "Update", "status")
	kubectl := entry("kubectl", "Apply", "")
	for name, c := range map[string]struct {
		entries         []metav1.ManagedFieldsEntry
		controlled      bool
		written, orphan bool
		kept            int
	}{
		"release 0.9's":                      {[]metav1.ManagedFieldsEntry{created, applied, status}, true, true, false, 2},
		"release 0.9's, only created":        {[]metav1.ManagedFieldsEntry{created}, true, true, false, 1},
		"release 0.9's, without owner":       {[]metav1.ManagedFieldsEntry{created}, false, true, true, 1},
		"adopted":                            {[]metav1.ManagedFieldsEntry{own, replicas, status}, true, false, false, 0},
		"adopted and applied again":          {[]metav1.ManagedFieldsEntry{own, applied}, true, true, false, 1},
		"updated by another manager":         {[]metav1.ManagedFieldsEntry{own, created}, true, false, false, 0},
		"adopted, and the owner taken out":   {[]metav1.ManagedFieldsEntry{own, created}, false, false, true, 1},
		"another manager's":                  {[]metav1.ManagedFieldsEntry{kubectl}, false, false, false, 1},
		"another manager's, with its status": {[]metav1.ManagedFieldsEntry{status}, false, false, false, 0},
	} {
		o := &metav1.ObjectMeta{Labels: map[string]string{names.LabelManagedBy: names.ManagedBy}, ManagedFields: c.entries}
		if c.controlled {
			o.OwnerReferences = []metav1.OwnerReference{{Kind: "LlamaStackDistribution", Name: "my-stack", Controller: new(true)}}
		}
		for _, where := range []string{"live", "cached"} {
			if got := release09.Owns(o, "my-stack"); got != c.written {
				t.Errorf("%s, %s: written by release 0.9: %v", name, where, got)
			}
			if got := release09.IsOrphan(o, names.Selector("my-stack"), "my-stack"); got != c.orphan {
				t.Errorf("%s, %s: orphan: %v", name, where, got)
			}
			o.ManagedFields = release09.Writers(o)
		}
		if len(o.ManagedFields) != c.kept {
			t.Errorf("%s: the caches keep %v", name, o.ManagedFields)
		}
		if release09.IsOrphan(o, map[string]string{"app": "web"}, "my-stack") {
			t.Errorf("%s: an orphan with another selector", name)
		}
	}
}

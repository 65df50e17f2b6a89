// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// Proves: UNDO (the operator takes only what the undo put back; a restart and the values of other clients' items stay).
func TestUndoneFieldsBecomeTheOperators(t *testing.T) {
	const (
		container = `"k:{\"name\":\"llama-stack\"}"`
		item      = `"k:{\"name\":\"FOREIGN\"}"`
		volumes   = `{"f:spec":{"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"old\"}":{".":{},"f:name":{}}}}}}}`
		own       = `{"f:spec":{"f:replicas":{}}}`
	)
	env := func(of string) string {
		return `{"f:spec":{"f:template":{"f:spec":{"f:containers":{` + container + `:{"f:env":{` + of + `}}}}}}}`
	}
	restart := `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`
	apply := func(fields string) metav1.ManagedFieldsEntry {
		return fakecluster.Entry(FieldManager, "Apply", fields, "")
	}
	update := func(manager, fields string) metav1.ManagedFieldsEntry {
		return fakecluster.Entry(manager, "Update", fields, "")
	}
	for name, c := range map[string]struct {
		entries, want []metav1.ManagedFieldsEntry
		undone        bool
	}{
		"a volume": {
			[]metav1.ManagedFieldsEntry{apply(own), update("kubectl", volumes)},
			[]metav1.ManagedFieldsEntry{apply(`{"f:spec":{"f:replicas":{},"f:template":{"f:spec":{"f:volumes":{"k:{\"name\":\"old\"}":{".":{},"f:name":{}}}}}}}`)},
			true,
		},
		"an annotation of the operator, beside others": {
			[]metav1.ManagedFieldsEntry{apply(own), update("kubectl", `{"f:metadata":{"f:annotations":{"f:llamastack.io/adopted-image":{},"f:team":{}}}}`)},
			[]metav1.ManagedFieldsEntry{
				apply(`{"f:metadata":{"f:annotations":{"f:llamastack.io/adopted-image":{}}},"f:spec":{"f:replicas":{}}}`),
				update("kubectl", `{"f:metadata":{"f:annotations":{"f:team":{}}}}`),
			},
			true,
		},
		"the value of another client's variable": {
			[]metav1.ManagedFieldsEntry{
				apply(own), update("kubectl", env(item+`:{"f:value":{}}`)), update("kubectl-set", env(item+`:{".":{},"f:name":{}}`)),
			},
			[]metav1.ManagedFieldsEntry{apply(own), update("kubectl-set", env(item+`:{".":{},"f:name":{}}`))},
			true,
		},
		"the time of a restart": {
			[]metav1.ManagedFieldsEntry{apply(own), update("kubectl", restart)}, []metav1.ManagedFieldsEntry{apply(own), update("kubectl", restart)}, false,
		},
		"another command of kubectl": {
			[]metav1.ManagedFieldsEntry{apply(own), update("kubectl-edit", volumes)}, []metav1.ManagedFieldsEntry{apply(own), update("kubectl-edit", volumes)}, false,
		},
		"a scale": {
			[]metav1.ManagedFieldsEntry{apply(own), fakecluster.Entry("kubectl", "Update", own, "scale")},
			[]metav1.ManagedFieldsEntry{apply(own), fakecluster.Entry("kubectl", "Update", own, "scale")}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, undone, err := withoutUndo(c.entries)
			if err != nil || undone != c.undone {
				t.Fatalf("undone %v, %v", undone, err)
			}
			if diff := cmp.Diff(text(c.want), text(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, again, _ := withoutUndo(got); again {
				t.Error("it is undone again")
			}
		})
	}
}

func text(entries []metav1.ManagedFieldsEntry) (texts []string) {
	for i := range entries {
		e := &entries[i]
		texts = append(texts, e.Manager+" "+string(e.Operation)+" "+e.Subresource+" "+e.FieldsV1.GetRawString())
	}
	return texts
}

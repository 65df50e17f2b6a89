// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Callers reports whether there is a pod that spec.networking.allowedFrom.pods selects.
type Callers int

// The zero value means that the spec selects no pods.
const (
	CallersUnneeded Callers = iota
	CallersFound
	CallersMissing
	// CallersUnknown means that the operator could not list the pods: what it reported before stays.
	CallersUnknown
)

func hasNoCallers(f *Facts) bool {
	last := meta.FindStatusCondition(f.CR.Status.Conditions, v1alpha2.ConditionReady)
	return f.Callers == CallersMissing ||
		f.Callers == CallersUnknown && last != nil && last.Reason == v1alpha2.ReasonNoCallers
}

// noCallers says where no pod may call the server.
func noCallers(f *Facts) string {
	allowed := ptr.Deref(objects.AllowedFrom(&f.CR.Spec), v1alpha2.AllowedFromSpec{})
	where := "any namespace"
	switch list := objects.CallerNamespaces(f.CR); {
	case len(list) == 1 && list[0] != metav1.NamespaceAll:
		where = "the namespace " + list[0]
	case len(list) > 1:
		where = "the namespaces " + limits.Names(list)
	}
	message := "no pod in " + where + " matches spec.networking.allowedFrom.pods"
	if f.Desired == nil || !f.Desired.Expose.Enabled || ptr.Deref(allowed.Exclusive, false) {
		message += ": nobody but the operator can reach the server"
	}
	return message
}

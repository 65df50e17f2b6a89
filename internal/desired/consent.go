// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

// Allows reports whether the owner of an object with these annotations lets LlamaStackDistributions of another namespace refer to it.
func Allows(annotations map[string]string, namespace string) bool {
	names := strings.FieldsFunc(annotations[v1alpha2.AllowFromAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, namespace) || slices.Contains(names, "*")
}

// foreign is the fault of a reference to a ConfigMap of another namespace than own that is not followed.
func foreign(state ConfigMapState, field, name, namespace, own string) *fault.Fault {
	f := &fault.Fault{Class: fault.Wrong, Condition: v1alpha2.ConditionConfigGenerated, Reason: v1alpha2.ReasonForeignNamespace}
	why := "which this operator does not watch"
	switch state {
	case ConfigMapNotAllowed:
		// Whether it exists is not said: who may not read the namespace does not learn what is there.
		f.Class = fault.Missing
		f.Message = fmt.Sprintf("%s: ConfigMap %s in namespace %s does not exist, or does not allow namespace %s to use it: "+
			"annotate it with %s: %s, or copy it to namespace %[4]s", field, name, namespace, own, v1alpha2.AllowFromAnnotation, own)
		return f
	case ConfigMapForbidden:
		why = "and this operator does not allow other namespaces"
	case ConfigMapFound, ConfigMapMissing, ConfigMapKeyMissing, ConfigMapNotWatched:
	}
	f.Message = fmt.Sprintf("%s: ConfigMap %s is in namespace %s, %s: copy it to namespace %s", field, name, namespace, why, own)
	return f
}

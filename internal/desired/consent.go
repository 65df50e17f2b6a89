// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// Allows reports whether the owner of an object with these annotations lets LlamaStackDistributions of another namespace refer to it.
func Allows(annotations map[string]string, namespace string) bool {
	names := strings.FieldsFunc(annotations[v1alpha2.AllowFromAnnotation], func(r rune) bool { return r == ',' || r == ' ' })
	return slices.Contains(names, namespace) || slices.Contains(names, "*")
}

// foreign is the problem of a reference to a ConfigMap of another namespace than own that is not followed.
func foreign(state ConfigMapState, path, name, namespace, own string) problem.Problem {
	p := problem.Problem{Reason: problem.ForeignNamespace, Path: path, Type: field.ErrorTypeForbidden, Fix: "copy it to namespace " + own}
	why := "which this operator does not watch"
	switch state {
	case ConfigMapNotAllowed:
		// Whether it exists is not said: who may not read the namespace does not learn what is there.
		p.Reason = problem.ConfigMapNotShared
		p.Detail = fmt.Sprintf("ConfigMap %s in namespace %s does not exist, or does not allow namespace %s to use it", name, namespace, own)
		p.Fix = fmt.Sprintf("annotate it with %s: %s, or copy it to namespace %s", v1alpha2.AllowFromAnnotation, own, own)
		return p
	case ConfigMapForbidden:
		why = "and this operator does not allow other namespaces"
	case ConfigMapFound, ConfigMapMissing, ConfigMapKeyMissing, ConfigMapNotWatched:
	}
	p.Detail = fmt.Sprintf("ConfigMap %s is in namespace %s, %s", name, namespace, why)
	return p
}

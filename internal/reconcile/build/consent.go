// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Allows reports whether an object's annotations let LlamaStackDistributions of the namespace refer to it.
func Allows(annotations map[string]string, namespace string) bool {
	names := strings.FieldsFunc(annotations[v1alpha2.AllowFromAnnotation], func(r rune) bool {
		return r == ',' || r == ' '
	})
	return slices.Contains(names, namespace) || slices.Contains(names, "*")
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyEndpointFrom is the key of a YAML EndpointFrom.
const KeyEndpointFrom = "endpointFrom"

// allNamespaces matches every namespace.
const allNamespaces = "*"

// EndpointFrom restricts endpointFrom references to other namespaces. The zero value allows only the custom resource's
// namespace.
type EndpointFrom struct {
	// Namespaces are those that every custom resource may refer to; "*" means all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// Allows reports whether a custom resource may refer to an object in a namespace.
func (e *EndpointFrom) Allows(own, namespace string) bool {
	return namespace == own || slices.Contains(e.Namespaces, namespace) || slices.Contains(e.Namespaces, allNamespaces)
}

func parseEndpointFrom(text string) (EndpointFrom, error) {
	var e EndpointFrom
	err := decode([]byte(text), &e)
	var errs field.ErrorList
	for i, namespace := range e.Namespaces {
		if namespace != allNamespaces && len(validation.IsDNS1123Label(namespace)) > 0 {
			errs = append(errs, field.Invalid(field.NewPath("namespaces").Index(i), limits.Message(namespace), "must be a "+
				"namespace, or *"))
		}
	}
	if err == nil {
		err = errs.ToAggregate()
	}
	if err != nil {
		return EndpointFrom{}, fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyEndpointFrom, err)
	}
	return e, nil
}

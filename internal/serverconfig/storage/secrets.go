// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// secretUse resolves a secret reference of the storage; it returns false for an incomplete one.
func secretUse(ref *v1alpha2.SecretKeyRef, envName, path string, problems *problem.Collector) (environment.SecretUse,
	bool) {
	names := strings.Split(path, ".")
	resolved, found := parse.SecretKeyRef(ref, field.NewPath(names[0], names[1:]...))
	problems.AddAll(found)
	return environment.SecretUse{EnvName: envName, Ref: resolved, Path: path, Derived: true}, len(found) == 0
}

// SecretUses returns the secret references of the storage.
func SecretUses(spec *v1alpha2.StateStorageSpec, problems *problem.Collector) []environment.SecretUse {
	var uses []environment.SecretUse
	for _, b := range Backends(spec) {
		ref, envName, path := b.credential()
		if ref == nil {
			continue
		}
		if use, ok := secretUse(ref, envName, path, problems); ok {
			uses = append(uses, use)
		}
	}
	return uses
}

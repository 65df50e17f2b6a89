// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// EndpointUses returns the objects whose addresses the configuration needs, in the order of the spec: as with
// SecretUses, not those of disabled APIs, nor of providers that external ones replace. It returns none where the spec
// names more than are read, which is an error of the spec.
func EndpointUses(spec *parse.Spec) []*parse.EndpointReference {
	if spec.TooLarge || spec.TooManyEndpoints {
		return nil
	}
	counted := *spec
	counted.Providers, counted.External = effective(spec)
	if slices.Contains(disabled.APIs(spec.Source.Disabled), parse.APIToolRuntime.Name) {
		counted.Tools = nil
	}
	return counted.EndpointReferences()
}

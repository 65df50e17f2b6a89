// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// EndpointUses returns the endpoint references of enabled providers and tools in spec order, without replaced
// providers. It returns nil if the spec exceeds a limit.
func EndpointUses(spec *parse.Spec) []*parse.EndpointReference {
	if spec.TooLarge || spec.TooManyEndpoints {
		return nil
	}
	counted := *spec
	counted.Providers, counted.External = effectiveProviders(spec)
	if slices.Contains(disabled.APIs(spec.Source.Disabled), parse.APIToolRuntime.Name) {
		counted.Tools = nil
	}
	return counted.EndpointReferences()
}

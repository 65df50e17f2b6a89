// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// ProviderAPI is an API in spec.providers or spec.externalProviders.
type ProviderAPI struct {
	// Field is the name in the custom resource, such as "vectorIo".
	Field string
	// Name is the server's name, such as "vector_io".
	Name string
}

// The APIs with a field in the schema of spec.providers.
var (
	APIInference   = APIOf("inference")
	APISafety      = APIOf("safety")
	APIVectorIO    = APIOf("vector_io")
	APIToolRuntime = APIOf("tool_runtime")
	APITelemetry   = APIOf("telemetry")
)

// APIOf returns the API with a name of the server. Its field is the name in camelCase.
func APIOf(name string) ProviderAPI {
	parts := strings.Split(name, "_")
	for i, part := range parts {
		if i > 0 && part != "" {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return ProviderAPI{Field: strings.Join(parts, ""), Name: name}
}

// APIs returns the APIs of spec.providers: those with a field in the schema, and then all others of any release line,
// sorted.
func APIs() []ProviderAPI { return slices.Clone(allAPIs()) }

// ConfigurableAPIs returns the APIs that have provider types: all except telemetry.
func ConfigurableAPIs() []ProviderAPI {
	return slices.DeleteFunc(APIs(), func(api ProviderAPI) bool { return api == APITelemetry })
}

var allAPIs = sync.OnceValue(func() []ProviderAPI {
	apis := []ProviderAPI{APIInference, APISafety, APIVectorIO, APIToolRuntime, APITelemetry}
	for _, name := range catalog.KnownAPIs() {
		if api := APIOf(name); !slices.Contains(apis, api) {
			apis = append(apis, api)
		}
	}
	return apis
})

// apiFields returns the field of each API.
func apiFields() []string {
	var fields []string
	for _, api := range allAPIs() {
		fields = append(fields, api.Field)
	}
	return fields
}

// fieldsInOrder returns the names of the fields of spec.providers that are set, in the order of APIs. Unknown ones
// follow, sorted.
func fieldsInOrder(spec *v1alpha2.ProvidersSpec) []string {
	known, names := apiFields(), spec.Names()
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(uint(slices.Index(known, a)), uint(slices.Index(known, b))) // -1, unknown, comes last
	})
	return names
}

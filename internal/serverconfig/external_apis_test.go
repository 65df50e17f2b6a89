// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Telemetry has no providers, so it has no field.
//
// Proves: FR-014.
func TestExternalProvidersHaveAFieldForEachAPI(t *testing.T) {
	var names []string
	for _, api := range parse.ExternalAPIs() {
		names = append(names, api.Name)
	}
	slices.Sort(names)
	want := slices.DeleteFunc(catalog.KnownAPIs(), func(api string) bool { return api == "telemetry" })
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

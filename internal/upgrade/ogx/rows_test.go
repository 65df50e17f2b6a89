// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"maps"
	"slices"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Proves: FR-031, R11 (the rows name fields of the server, and include all required ones).
func TestRowsNameFieldsOfTheServer(t *testing.T) {
	line, _ := catalog.Get(catalog.Newest())
	names := map[string]string{}
	for _, api := range apis {
		names[api.Field] = api.Name
	}
	for _, r := range rows {
		known, ok := line.Provider(names[r.api], r.providerType)
		if !ok {
			t.Errorf("release line %s has no %s", line.Name, r.providerType)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(r.fields)) {
			if _, has := known.Fields[r.fields[name].server]; !has {
				t.Errorf("%s has no field %s", r.providerType, r.fields[name].server)
			}
		}
		for _, name := range r.required {
			if _, has := r.fields[name]; !has {
				t.Errorf("%s: there is no field %s", r.providerType, name)
			}
		}
	}
}

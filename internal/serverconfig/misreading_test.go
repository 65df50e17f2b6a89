// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Problems that may follow from an unreadable value are left out. Independent problems stay.
//
// Proves: R74.
func TestParseErrorSuppressesOnlyItsConsequences(t *testing.T) {
	const entry, setting = "spec.providers.inference[1]", "spec.providers.inference[1].settings.a"
	for name, c := range map[string]struct {
		misread string
		because problem.Reason
		path    string
		reason  problem.Reason
		want    bool
	}{
		"the same field":                    {setting, problem.InvalidField, setting, problem.InvalidField, true},
		"a field in it":                     {setting, problem.InvalidField, setting + ".b", problem.InvalidField, true},
		"an item of it":                     {setting, problem.InvalidField, setting + "[0]", problem.InvalidField, true},
		"the field around it":               {setting, problem.InvalidField, entry + ".settings", problem.InvalidField, false},
		"a field whose name begins with it": {setting, problem.InvalidField, setting + "b", problem.InvalidField, false},
		"an entry whose number begins with it": {
			"spec.providers.inference[1]", problem.InvalidField, "spec.providers.inference[10].endpoint", problem.InvalidField, false,
		},
		"a field of an entry that could not be read":  {entry, problem.InvalidField, entry + ".endpoint", problem.InvalidField, true},
		"a setting, where the type is not known":      {entry + ".provider", problem.InvalidField, setting, problem.UnknownField, true},
		"a setting, where the id is not known":        {entry + ".id", problem.InvalidField, setting, problem.UnknownField, false},
		"a setting of another entry":                  {entry + ".provider", problem.InvalidField, "spec.providers.inference[0].settings.a", problem.UnknownField, false},
		"an id twice, where one is not known":         {entry + ".id", problem.InvalidField, entry, problem.ConflictingFields, true},
		"an id twice, where all are known":            {setting, problem.InvalidField, entry, problem.ConflictingFields, false},
		"a missing field beside an unknown key":       {entry + ".apikey", problem.UnknownField, entry + ".apiKey", problem.MissingField, true},
		"a missing field beside a wrong one":          {setting, problem.InvalidField, entry + ".apiKey", problem.MissingField, false},
		"a model of a provider whose id is not known": {entry + ".id", problem.InvalidField, "spec.resources.models[0].provider", problem.UnknownProvider, true},
		"a model of no provider, where ids are known": {setting, problem.InvalidField, "spec.resources.models[0].provider", problem.UnknownProvider, false},
		"a shield of no provider, of another API":     {"spec.providers.vectorIo[0].id", problem.InvalidField, "spec.resources.shields[0].provider", problem.UnknownProvider, false},
		"a tool whose name is not known":              {"spec.resources.tools[0].name", problem.InvalidField, "spec.resources.tools[0].endpoint", problem.UnknownField, true},
		"a model whose name is not known":             {"spec.resources.models[0].name", problem.InvalidField, "spec.resources.models[0].modelType", problem.UnsupportedByRelease, false},
		"a vector store of a model of another type": {
			"spec.resources.models[0].modelType", problem.InvalidField, "spec.resources.vectorStores[0].embeddingModel", problem.BrokenReference, true,
		},
		"a vector store of a model with an unknown key": {
			"spec.resources.models[0].typ", problem.UnknownField, "spec.resources.vectorStores[0].embeddingModel", problem.BrokenReference, true,
		},
		"a vector store of a provider with an unknown key": {
			"spec.providers.vectorIo[0].typ", problem.UnknownField, "spec.resources.vectorStores[0].provider", problem.UnknownProvider, false,
		},
		"an endpoint, where what it comes from cannot be read":      {entry + ".endpointFrom.kind", problem.InvalidField, entry + ".endpoint", problem.MissingField, true},
		"an endpoint, where what another comes from cannot be read": {entry + ".endpointFrom", problem.InvalidField, "spec.providers.inference[0].endpoint", problem.MissingField, false},
		"the configuration": {setting, problem.InvalidField, "providers.inference[0]", problem.BrokenReference, true},
	} {
		m := newParseFailures(problem.List{{Path: c.misread, Reason: c.because}})
		if got := m.mayCause(problem.Problem{Path: c.path, Reason: c.reason}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package describe_test

import (
	"fmt"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/describe"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// The page reports what a field takes in words.
func TestKindSaysWhatAFieldTakes(t *testing.T) {
	one, three, zero := 1.0, 3.0, 0.0
	for want, field := range map[string]catalog.Field{
		"map":                        {Type: catalog.TypeMap, Object: "o"},
		"list of string":             {Type: catalog.TypeList, Elements: catalog.TypeString, Values: []string{"a"}},
		"bool or string":             {Type: catalog.TypeAny, AnyOf: []catalog.FieldType{catalog.TypeBool, catalog.TypeString}},
		"one of a, b":                {Type: catalog.TypeString, Values: []string{"a", "b"}},
		"int, at least 1, at most 3": {Type: catalog.TypeInt, Min: &one, Max: &three},
		"float, above 0":             {Type: catalog.TypeFloat, Above: &zero},
	} {
		if got := describe.Kind(field); got != want {
			t.Errorf("%+v is told as %q, want %q", field, got, want)
		}
	}
}

func TestLinesJoinsNeighbors(t *testing.T) {
	all := []string{"0.3", "0.4", "0.5", "1.0", "1.1"}
	for want, with := range map[string][]string{
		"": nil, "0.4": {"0.4"}, "0.3, 0.4": {"0.3", "0.4"}, "0.3 to 0.5, 1.1": {"0.3", "0.4", "0.5", "1.1"}, "0.3 to 1.1": all,
	} {
		if got := describe.Lines(with, all); got != want {
			t.Errorf("%v: %q, want %q", with, got, want)
		}
	}
}

func TestNotesBeginWithTheFieldsOfTheCustomResource(t *testing.T) {
	row := &catalog.Provider{
		Type: "remote::x", Key: "token", Endpoint: &catalog.Endpoint{Field: "url", Kind: catalog.EndpointURL, DefaultPath: "/v1", Required: true},
		Fields: map[string]catalog.Field{
			"url": {Required: true}, "token": {Secret: true}, "kv": {Required: true, Store: catalog.KV}, "name": {Required: true}, "called": {AliasOf: "name"},
		},
	}
	for name, want := range map[string]string{
		"url":   "[endpoint (path /v1 where none is given) required]",
		"token": "[key secret]",
		"kv":    "[filled in where absent store (kv)]",
		"name":  "[also called required]",
	} {
		if got := fmt.Sprint(describe.Notes(row, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"math"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Each field type accepts the values that the server's parser accepts, and describes them in words.
//
// Proves: R34, FR-075.
func TestFieldsAcceptWhatTheServerAccepts(t *testing.T) {
	list, dict := []any{}, map[string]any{}
	for _, c := range []struct {
		field catalog.Field
		takes []any
		wants string
		not   []any
	}{
		{
			field: catalog.Field{Type: catalog.TypeInt},
			takes: []any{int64(-3), 5.0, -5.0, "5", " +1_000 ", "5.00", true, 1e18, nil},
			wants: "an integer", not: []any{5.5, "5.5", "five", "", math.Exp2(63), -math.Exp2(63), math.Inf(1), list, dict},
		},
		{
			field: catalog.Field{Type: catalog.TypeInt, Min: new(1.0), Max: new(10.0)},
			takes: []any{int64(1), int64(10), 10.0, "10", "1_0", true},
			wants: "an integer from 1 to 10", not: []any{int64(0), int64(11), 0.0, 11.0, "0", "1_1", false, 2.5},
		},
		{
			field: catalog.Field{Type: catalog.TypeInt, Min: new(1.0)},
			takes: []any{int64(1), int64(1_000_000)}, wants: "an integer of at least 1", not: []any{int64(0), "-1"},
		},
		{
			field: catalog.Field{Type: catalog.TypeInt, Max: new(10.0)},
			takes: []any{int64(10), int64(-10)}, wants: "an integer of at most 10", not: []any{int64(11), "11"},
		},
		{
			field: catalog.Field{Type: catalog.TypeFloat, Above: new(0.5)},
			takes: []any{0.6, int64(1), "0.6", "1e999", "inf", true}, wants: "a number above 0.5",
			not: []any{0.5, "0.5", int64(0), false, "nan", "much", list, dict},
		},
		{
			field: catalog.Field{Type: catalog.TypeFloat, Max: new(2.0)},
			takes: []any{2.0, "2"}, wants: "a number of at most 2", not: []any{2.1, "1e999", "nan", math.NaN()},
		},
		{
			field: catalog.Field{Type: catalog.TypeBool},
			takes: []any{true, false, int64(0), int64(1), 0.0, 1.0, "Yes", "off", "1"},
			wants: "true or false", not: []any{int64(2), int64(-1), 2.0, 0.5, "maybe", "", list},
		},
		{
			field: catalog.Field{Type: catalog.TypeURL},
			takes: []any{"http://h", "HTTPS://h/x", " http://h "},
			wants: "a URL that begins with http:// or https://", not: []any{"h", "ftp://h", "http://", "http://[::1", int64(1), true},
		},
		{
			field: catalog.Field{Type: catalog.TypeString}, takes: []any{"", "x"},
			wants: "a string (put numbers and booleans in quotes)", not: []any{int64(1), true, list},
		},
		{
			field: catalog.Field{Type: catalog.TypeString, Values: []string{"fast", "slow"}}, takes: []any{"fast", "slow"},
			wants: "one of fast, slow", not: []any{"Fast", "", int64(1)},
		},
		{field: catalog.Field{Type: catalog.TypeList}, takes: []any{list}, wants: "a list", not: []any{dict, "x"}},
		{field: catalog.Field{Type: catalog.TypeMap}, takes: []any{dict}, wants: "a map", not: []any{list, "x"}},
		{
			field: catalog.Field{Type: catalog.TypeAny, AnyOf: []catalog.FieldType{catalog.TypeString, catalog.TypeInt}}, takes: []any{"x", int64(1), nil},
			wants: "a string, or an integer", not: []any{1.5, list},
		},
		{field: catalog.Field{Type: catalog.TypeAny}, takes: []any{"x", 1.5, list, dict, nil}},
	} {
		for _, value := range c.takes {
			if want := ExpectedValue(c.field, value); want != "" {
				t.Errorf("%+v does not take %#v, but %s", c.field, value, want)
			}
		}
		for _, value := range c.not {
			if want := ExpectedValue(c.field, value); want != c.wants {
				t.Errorf("%+v and %#v: it takes %q, want %q", c.field, value, want, c.wants)
			}
		}
	}
}

// Null is accepted in fields that are nullable, of any type, or optional.
//
// Proves: R34.
func TestFieldsAcceptNullIfTheServerDoes(t *testing.T) {
	for _, field := range []catalog.Field{
		{Type: catalog.TypeString},
		{Type: catalog.TypeString, Required: true, Nullable: true},
		{Type: catalog.TypeInt, Default: 7, Nullable: true},
		{Type: catalog.TypeAny, Required: true},
	} {
		if want := ExpectedValue(field, nil); want != "" {
			t.Errorf("%+v does not take null, but %s", field, want)
		}
	}
	for _, field := range []catalog.Field{
		{Type: catalog.TypeString, Required: true},
		{Type: catalog.TypeInt, Default: 7},
		{Type: catalog.TypeAny, Required: true, AnyOf: []catalog.FieldType{catalog.TypeString}},
	} {
		if want := ExpectedValue(field, nil); want != "a value other than null" {
			t.Errorf("%+v takes %q", field, want)
		}
	}
}

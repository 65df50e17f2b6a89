// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// The server uses pydantic, which accepts text for numbers and booleans, but never a number for text.
var (
	intText   = regexp.MustCompile(`^\s*[+-]?\d+(_\d+)*(\.0*)?\s*$`)
	floatText = regexp.MustCompile(`(?i)^\s*[+-]?([0-9]+(_[0-9]+)*\.?([0-9]+(_[0-9]+)*)?|\.[0-9]+(_[0-9]+)*)(e[+-]?[0-9]+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$`)
	boolText  = []string{"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"}
)

// unfit returns a description of the values that a field accepts, or "" for a valid value.
func unfit(field catalog.Field, value any) string {
	if value == nil {
		anything := field.Type == catalog.TypeAny && len(field.AnyOf) == 0
		if field.NotNull || (field.Required || field.Default != nil) && !field.Nullable && !anything {
			return "a value other than null"
		}
		return ""
	}
	switch field.Type {
	case catalog.TypeString:
		if want := unfitText(field, value); want != aString {
			return want
		}
		return aString + " (a number or a boolean stands in quotes)"
	case catalog.TypeURL:
		if !isURL(value) {
			return "a URL that begins with http:// or https://"
		}
	case catalog.TypeInt:
		if !isInt(value) || outside(field, value) {
			return "an integer" + limitsValue(field)
		}
	case catalog.TypeFloat:
		if !isFloat(value) || outside(field, value) {
			return "a number" + limitsValue(field)
		}
	case catalog.TypeBool:
		if !isBool(value) {
			return "true or false"
		}
	case catalog.TypeList:
		if _, ok := value.([]any); !ok {
			return "a list"
		}
	case catalog.TypeMap:
		if _, ok := value.(map[string]any); !ok {
			return "a map"
		}
	case catalog.TypeAny:
		return unfitAny(field, value)
	}
	return ""
}

const aString = "a string"

// unfitText is unfit for a string, without the hint about quotes.
func unfitText(field catalog.Field, value any) string {
	s, ok := value.(string)
	switch {
	case len(field.Values) > 0 && (!ok || !slices.Contains(field.Values, s)):
		return "one of " + strings.Join(field.Values, ", ")
	case !ok:
		return aString
	}
	return ""
}

// unfitAny is unfit for a field with several types.
func unfitAny(field catalog.Field, value any) string {
	var wanted []string
	for _, each := range field.AnyOf {
		alternative := field
		alternative.Type = each
		check := unfit
		if each == catalog.TypeString {
			check = unfitText
		}
		want := check(alternative, value)
		if want == "" {
			return ""
		}
		wanted = append(wanted, want)
	}
	return strings.Join(wanted, ", or ")
}

// number returns the number that the server parses from a value, if any.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	case string:
		n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(v), "_", ""), 64)
		return n, err == nil || errors.Is(err, strconv.ErrRange)
	}
	return 0, false
}

// outside reports whether a number is NaN or exceeds the limits of its field.
func outside(field catalog.Field, value any) bool {
	n, ok := number(value)
	return ok && (field.Min != nil && !(n >= *field.Min) || field.Max != nil && !(n <= *field.Max) ||
		field.Above != nil && !(n > *field.Above))
}

// limitsValue describes the limits of a field for messages.
func limitsValue(field catalog.Field) string {
	plain := func(limit *float64) string { return strconv.FormatFloat(*limit, 'f', -1, 64) }
	switch {
	case field.Min != nil && field.Max != nil:
		return " from " + plain(field.Min) + " to " + plain(field.Max)
	case field.Min != nil:
		return " of at least " + plain(field.Min)
	case field.Max != nil:
		return " of at most " + plain(field.Max)
	case field.Above != nil:
		return " above " + plain(field.Above)
	}
	return ""
}

func isURL(value any) bool {
	s, ok := value.(string)
	return ok && address.IsURL(strings.TrimSpace(s))
}

func isInt(value any) bool {
	switch v := value.(type) {
	case int64, bool:
		return true
	case float64:
		return v == math.Trunc(v) && math.Abs(v) < math.MaxInt64
	case string:
		return intText.MatchString(v)
	}
	return false
}

func isFloat(value any) bool {
	switch v := value.(type) {
	case int64, float64, bool:
		return true
	case string:
		return floatText.MatchString(v)
	}
	return false
}

func isBool(value any) bool {
	switch v := value.(type) {
	case bool:
		return true
	case int64:
		return v == 0 || v == 1
	case float64:
		return v == 0 || v == 1
	case string:
		return slices.Contains(boolText, strings.ToLower(v))
	}
	return false
}

// Accepts returns a description of the values that a field accepts, or "" if the value is one of them.
func Accepts(field catalog.Field, value any) string { return unfit(field, value) }

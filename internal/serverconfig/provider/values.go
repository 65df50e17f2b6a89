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

// ExpectedValue returns a description of the values that a field accepts, or "" for a valid value.
func ExpectedValue(field catalog.Field, value any) string {
	if value == nil {
		acceptsAny := field.Type == catalog.TypeAny && len(field.AnyOf) == 0
		if field.NotNull || (field.Required || field.Default != nil) && !field.Nullable && !acceptsAny {
			return "a value other than null"
		}
		return ""
	}
	switch field.Type {
	case catalog.TypeString:
		if expected := expectedText(field, value); expected != expectedString {
			return expected
		}
		return expectedString + " (put numbers and booleans in quotes)"
	case catalog.TypeURL:
		if !isURL(value) {
			return "a URL that begins with http:// or https://"
		}
	case catalog.TypeInt:
		if !isInt(value) || outOfRange(field, value) {
			return "an integer" + rangeText(field)
		}
	case catalog.TypeFloat:
		if !isFloat(value) || outOfRange(field, value) {
			return "a number" + rangeText(field)
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
		return expectedAny(field, value)
	}
	return ""
}

const expectedString = "a string"

// expectedText is ExpectedValue for a string, without the hint about quotes.
func expectedText(field catalog.Field, value any) string {
	s, ok := value.(string)
	switch {
	case len(field.Values) > 0 && (!ok || !slices.Contains(field.Values, s)):
		return "one of " + strings.Join(field.Values, ", ")
	case !ok:
		return expectedString
	}
	return ""
}

// expectedAny is ExpectedValue for a field with several types.
func expectedAny(field catalog.Field, value any) string {
	var expected []string
	for _, fieldType := range field.AnyOf {
		alternative := field
		alternative.Type = fieldType
		check := ExpectedValue
		if fieldType == catalog.TypeString {
			check = expectedText
		}
		other := check(alternative, value)
		if other == "" {
			return ""
		}
		expected = append(expected, other)
	}
	return strings.Join(expected, ", or ")
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

// outOfRange reports whether a number is NaN or exceeds the limits of its field.
func outOfRange(field catalog.Field, value any) bool {
	n, ok := number(value)
	return ok && (field.Min != nil && !(n >= *field.Min) || field.Max != nil && !(n <= *field.Max) ||
		field.Above != nil && !(n > *field.Above))
}

// rangeText describes the limits of a field for messages.
func rangeText(field catalog.Field) string {
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

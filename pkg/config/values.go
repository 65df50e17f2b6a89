// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// checkSettings finds what settings sets a second time, what the server would ignore silently, and what it would refuse.
func (p *provider) checkSettings(findings *report) {
	first := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		path, name := bounds.Join(p.Path+"."+p.SettingsField, "."+key), p.canonical(key)
		if at, assigned := p.assigned[name]; assigned {
			p.conflict(name, at, path, findings)
		}
		if at, twice := first[name]; twice {
			p.conflict(name, at, path, findings)
		}
		first[name] = path
		if p.row == nil {
			continue
		}
		if field, ok := p.row.Fields[name]; ok {
			p.checkValue(field, p.Settings[key], path, findings)
		} else {
			p.unknownField(path, key, p.row.FieldNames(), Warning, findings)
		}
	}
}

// canonical returns the name of the field that a name stands for.
func (p *provider) canonical(name string) string {
	if p.row != nil {
		if field := p.row.Fields[name]; field.AliasOf != "" {
			return field.AliasOf
		}
	}
	return name
}

// checkValue reports what the server would refuse in a field, and what it would ignore in a map. A text with a reference to the
// environment can become anything.
func (p *provider) checkValue(field catalog.Field, value any, path string, findings *report) {
	if s, ok := value.(string); ok && document.HasReference(s) {
		if field.Secret && !document.IsReference(s) {
			p.literalSecret(path, findings)
		}
		return
	}
	if want := unfit(field, value); want != "" {
		findings.fail(InvalidSpec, path, fmt.Sprintf("Invalid value: %s takes %s here", p.providerType, want), "write such a value, or remove the field")
		return
	}
	if value == nil {
		return
	}
	if field.Secret {
		p.literalSecret(path, findings)
	}
	if s, ok := value.(string); ok && beginsWithScheme.MatchString(s) && hasUserInfo(s) {
		findings.fail(InvalidEndpoint, path, "must not contain user name or password: it would stand in a ConfigMap for all to read",
			"remove everything up to the @, or put it into an environment variable and refer to that as ${env.…}")
	}
	switch value := value.(type) {
	case map[string]any:
		p.checkMap(field, value, path, findings)
	case []any:
		if element, ok := field.Element(); ok {
			for i, item := range value {
				p.checkValue(element, item, bounds.Join(path, fmt.Sprintf("[%d]", i)), findings)
			}
		}
	}
}

func (p *provider) literalSecret(path string, findings *report) {
	findings.warn(LiteralSecret, path, "is a secret, and everybody who may read the resource or its ConfigMap can read it here",
		"put it into a Secret, and refer to it by apiKey or secretRefs")
}

// checkMap looks at the keys of a map where the release line reports which there can be, else at its values where it reports these.
func (p *provider) checkMap(field catalog.Field, values map[string]any, path string, findings *report) {
	fields := p.innerFields(field)
	if fields == nil {
		if element, ok := field.Element(); ok {
			for _, key := range slices.Sorted(maps.Keys(values)) {
				p.checkValue(element, values[key], bounds.Join(path, "."+key), findings)
			}
		}
		return
	}
	fields = catalog.Chosen(fields, func(name string) string {
		kind, _ := values[name].(string)
		return kind
	})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if inner, ok := fields[key]; ok {
			p.checkValue(inner, values[key], bounds.Join(path, "."+key), findings)
		} else {
			p.unknownField(bounds.Join(path, "."+key), key, slices.Sorted(maps.Keys(fields)), Warning, findings)
		}
	}
}

// innerFields returns the fields of a map, of whichever kind it is, and nil where they are free.
func (p *provider) innerFields(field catalog.Field) map[string]catalog.Field {
	switch {
	case field.Object != "":
		return p.line.Objects[field.Object]
	case field.Store != "":
		text := catalog.Field{Type: catalog.TypeString, Required: true}
		return map[string]catalog.Field{"backend": text, field.Store.Place(): text}
	}
	return nil
}

func (p *provider) unknownField(path, field string, known []string, severity Severity, findings *report) {
	if findings.skip(severity) {
		return
	}
	fields := "it has no fields"
	if len(known) > 0 {
		fields = "its fields are " + strings.Join(known, ", ")
	}
	findings.add(Finding{
		Code: UnknownField, Severity: severity, Path: path,
		Message: fmt.Sprintf("%s has no field of this name on release line %s, and the server ignores it", p.providerType, p.line.Name),
		Mending: suggest.Sentence(field, known) + fields,
	})
}

var beginsWithScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// The server reads values with pydantic, which takes more than the type itself: text that says a number for a number, a few
// words for a boolean. It never takes a number for text.
var (
	intText   = regexp.MustCompile(`^\s*[+-]?\d+(_\d+)*(\.0*)?\s*$`)
	floatText = regexp.MustCompile(`(?i)^\s*[+-]?([0-9]+(_[0-9]+)*\.?([0-9]+(_[0-9]+)*)?|\.[0-9]+(_[0-9]+)*)(e[+-]?[0-9]+)?\s*$|^\s*[+-]?(inf|infinity|nan)\s*$`)
	boolText  = []string{"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"}
)

// unfit reports what a field takes instead of a value; empty where the value will do.
func unfit(field catalog.Field, value any) string {
	if value == nil {
		anything := field.Type == catalog.TypeAny && len(field.AnyOf) == 0
		if (field.Required || field.Default != nil) && !field.Nullable && !anything {
			return "a value other than null"
		}
		return ""
	}
	switch field.Type {
	case catalog.TypeString:
		return unfitText(field, value)
	case catalog.TypeURL:
		if !isURL(value) {
			return "a URL that begins with http:// or https://"
		}
	case catalog.TypeInt:
		if !isInt(value) || outside(field, value) {
			return "an integer" + limits(field)
		}
	case catalog.TypeFloat:
		if !isFloat(value) || outside(field, value) {
			return "a number" + limits(field)
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

// unfitText is unfit for a string.
func unfitText(field catalog.Field, value any) string {
	s, ok := value.(string)
	switch {
	case len(field.Values) > 0 && (!ok || !slices.Contains(field.Values, s)):
		return "one of " + strings.Join(field.Values, ", ")
	case !ok:
		return "a string (a number or a boolean stands in quotes)"
	}
	return ""
}

// unfitAny is unfit for a field that takes more than one type.
func unfitAny(field catalog.Field, value any) string {
	var wanted []string
	for _, each := range field.AnyOf {
		alternative := field
		alternative.Type = each
		want := unfit(alternative, value)
		if want == "" {
			return ""
		}
		want, _, _ = strings.Cut(want, " (")
		wanted = append(wanted, want)
	}
	return strings.Join(wanted, ", or ")
}

// number returns the number that the server makes of a value; false where it makes none.
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

// outside reports whether a number is beyond the limits of its field; NaN is within none.
func outside(field catalog.Field, value any) bool {
	n, ok := number(value)
	return ok && (field.Min != nil && !(n >= *field.Min) || field.Max != nil && !(n <= *field.Max) || field.Above != nil && !(n > *field.Above))
}

// limits describes what outside checks.
func limits(field catalog.Field) string {
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
	if !ok {
		return false
	}
	u, err := url.Parse(strings.TrimSpace(s))
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https"}, strings.ToLower(u.Scheme))
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

// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// settingsCheck checks the settings of an entry against its schema.
type settingsCheck struct {
	schema
	// assigned maps config fields set outside of settings to their paths.
	assigned map[string]string
	// strict makes ignored fields and literal secrets errors instead of warnings.
	strict   bool
	problems *problem.Collector
}

// CheckStrictly checks values against fields like settings, but fields that the server would ignore and literal secrets
// are errors. name is the owner of the fields, for messages.
func CheckStrictly(
	line *catalog.Line, name string, fields map[string]catalog.Field, values map[string]any, path string,
	problems *problem.Collector,
) {
	c := &settingsCheck{schema: schema{line: line, name: name, row: &catalog.Provider{Type: name, Fields: fields}},
		strict: true, problems: problems}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := limits.Join(path, "."+key)
		if known, ok := fields[key]; ok {
			c.checkValue(known, values[key], at)
		} else {
			reportUnknownField(c.schema, at, key, slices.Sorted(maps.Keys(fields)), c.severity(), problems)
		}
	}
}

func (c *settingsCheck) severity() problem.Severity {
	if c.strict {
		return problem.Error
	}
	return problem.Warning
}

// check reports fields that are set twice, ignored or refused.
func (c *settingsCheck) check(spec *parse.Provider) {
	first := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(spec.Settings)) {
		path, name := limits.Join(spec.Path+"."+spec.SettingsField, "."+key), c.canonical(key)
		for _, other := range []map[string]string{c.assigned, first} {
			if at, twice := other[name]; twice {
				reportConflict(c.name, name, at, path, c.problems)
			}
		}
		first[name] = path
		if c.row == nil {
			continue
		}
		if known, ok := c.row.Fields[name]; ok {
			c.checkValue(known, spec.Settings[key], path)
		} else {
			reportUnknownField(c.schema, path, key, c.row.FieldNames(), problem.Warning, c.problems)
		}
	}
}

// checkValue reports values that the server refuses or ignores. Environment references are always valid.
func (c *settingsCheck) checkValue(def catalog.Field, value any, path string) {
	if s, ok := value.(string); ok && document.HasReference(s) {
		if def.Secret && !document.IsReference(s) {
			c.reportLiteralSecret(path)
		}
		return
	}
	if p, mismatched := c.mismatch(def, value, path); mismatched {
		c.problems.Add(p)
		return
	}
	if value == nil {
		return
	}
	_, isList := value.([]any)
	if def.Secret && !isList {
		c.reportLiteralSecret(path)
	}
	if s, ok := value.(string); ok && schemePattern.MatchString(s) && address.HasUserInfo(s) {
		c.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid, Detail: userInfoForbidden,
			Fix: "remove everything up to the @, or put it into an environment variable and refer to that as ${env.…}",
		})
	}
	switch value := value.(type) {
	case map[string]any:
		c.checkMap(def, value, path)
	case []any:
		if element, ok := def.Element(); ok {
			element.Secret = def.Secret
			for i, item := range value {
				c.checkValue(element, item, limits.Join(path, fmt.Sprintf("[%d]", i)))
			}
		}
	}
}

// mismatch returns the problem of a value that the server refuses. It shows numbers and booleans of non-secret fields,
// and texts similar to a valid one.
func (c *settingsCheck) mismatch(def catalog.Field, value any, path string) (problem.Problem, bool) {
	expected := ExpectedValue(def, value)
	if expected == "" {
		return problem.Problem{}, false
	}
	p := problem.Problem{
		Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid,
		Detail: fmt.Sprintf("%s accepts %s here", c.name, expected), Fix: "use such a value, or remove the field",
	}
	switch value := value.(type) {
	case string:
		if near, ok := problem.Nearest(value, def.Values); ok {
			p.Reason, p.Type, p.Value, p.Fix = problem.InvalidField, field.ErrorTypeNotSupported, value, fmt.Sprintf("did you "+
				"mean %q?", near)
		}
	case bool, int64, float64:
		if !def.Secret {
			p.Value = value
		}
	}
	return p, true
}

func (c *settingsCheck) reportLiteralSecret(path string) {
	p := problem.Problem{Reason: problem.LiteralSecret, Severity: c.severity(), Path: path,
		Detail: "is a secret, and " + notConfidential, Fix: secretRefFix}
	if c.strict {
		p.Type, p.Fix = field.ErrorTypeForbidden, "put it into a Secret, and refer to it with secretRefs"
	}
	c.problems.Add(p)
}

// checkMap checks the keys of a map if they are known, otherwise its values.
func (c *settingsCheck) checkMap(def catalog.Field, values map[string]any, path string) {
	fields := c.inner(def)
	if fields == nil {
		if element, ok := def.Element(); ok {
			for _, key := range slices.Sorted(maps.Keys(values)) {
				c.checkValue(element, values[key], limits.Join(path, "."+key))
			}
		}
		return
	}
	fields = catalog.FieldsForKind(fields, func(name string) string {
		kind, _ := values[name].(string)
		return kind
	})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if inner, ok := fields[key]; ok {
			c.checkValue(inner, values[key], limits.Join(path, "."+key))
		} else {
			reportUnknownField(c.schema, limits.Join(path, "."+key), key, slices.Sorted(maps.Keys(fields)), c.severity(),
				c.problems)
		}
	}
}

// reportUnknownField reports an unknown config field, with the most similar known one.
func reportUnknownField(s schema, path, written string, known []string, severity problem.Severity,
	problems *problem.Collector) {
	if problems.Full(severity) {
		return
	}
	has := func(line *catalog.Line) bool {
		row, ok := line.Provider(s.api, s.name)
		if ok {
			_, ok = row.Fields[SnakeCase(written)]
		}
		return ok
	}
	p := problem.Problem{
		Reason: problem.UnknownField, Severity: severity, Path: path, Fix: "it has no fields",
		Detail: fmt.Sprintf("%s has no field of this name on %s, so the server ignores it", s.name, s.line.Without(has)),
	}
	if severity == problem.Error {
		p.Type = field.ErrorTypeInvalid
	}
	if len(known) > 0 {
		p.Fix = "its fields are " + strings.Join(known, ", ")
	}
	if near, ok := problem.Nearest(written, known); ok {
		p.Fix = fmt.Sprintf("did you mean %q?", near)
	}
	if later := release.LaterPatch(s.line, has); later != "" {
		p.Fix = later
	}
	problems.Add(p)
}

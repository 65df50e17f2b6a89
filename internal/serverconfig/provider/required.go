// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// requiredCheck reports missing required fields of an entry.
type requiredCheck struct {
	schema
	spec *parse.Provider
	// given are the environment variables that are known to be set.
	given    document.Variables
	problems *problem.Collector
}

func (c *requiredCheck) check(config *yaml.Node) {
	if c.row == nil {
		return
	}
	endpointField := ""
	if e := c.row.Endpoint; e != nil && e.Required {
		endpointField = e.Field
		// An invalid one is already reported.
		if c.spec.Endpoint == "" && c.given.IsEmpty(document.Child(config, e.Field)) {
			c.report(c.spec.EndpointPath(), c.name+" has no default address", exampleEndpoint(e))
		}
	}
	for _, name := range c.row.FieldNames() {
		if name != endpointField {
			c.checkField(name, document.Child(config, name))
		}
	}
}

func (c *requiredCheck) report(path, detail, fix string) {
	c.problems.Add(problem.Problem{Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
		Detail: detail, Fix: fix})
}

const settingsFix = "set it under settings or secretRefs"

func (c *requiredCheck) checkField(name string, value *yaml.Node) {
	def := c.row.Fields[name]
	switch {
	case def.Required && !def.Nullable && c.given.IsEmpty(value):
		c.reportField(name, def)
	case value != nil && value.Kind == yaml.MappingNode:
		c.checkInner(def, value, c.spec.Path+"."+c.spec.SettingsField+"."+name)
	case c.row.Example[name] != nil && c.given.IsEmpty(value) && (value != nil || def.Default == nil):
		c.problems.Add(problem.Problem{
			Reason: problem.MissingField, Severity: problem.Warning, Path: c.spec.Path + ".settings." + name,
			Detail: "is empty, but " + c.name + " is of little use without it", Fix: settingsFix,
		})
	}
}

func (c *requiredCheck) reportField(name string, def catalog.Field) {
	path, fix := c.spec.Path+".settings."+name, settingsFix
	switch {
	case name == c.row.Key:
		path, fix = c.spec.Path+".apiKey", "for example apiKey: {name: <Secret>, key: <key within it>}"
	case def.Secret:
		path, fix = c.spec.Path+".secretRefs["+name+"]", "for example secretRefs: {"+name+": {name: <Secret>, key: <key "+
			"within it>}}"
	}
	c.report(path, c.name+" does not start without it", fix)
}

// checkInner reports missing required fields in a map of the config.
func (c *requiredCheck) checkInner(def catalog.Field, config *yaml.Node, path string) {
	fields := catalog.FieldsForKind(
		c.inner(def),
		func(name string) string { return document.Text(document.Child(config, name)) },
	)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, value := fields[name], document.Child(config, name)
		switch {
		case inner.Required && !inner.Nullable && c.given.IsEmpty(value):
			c.report(path+"."+name, c.name+" does not start without it", "add it")
		case value != nil && value.Kind == yaml.MappingNode:
			c.checkInner(inner, value, path+"."+name)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// environment checks that each variable has one meaning and reaches only its intended readers.
func (c *check) environment() {
	first := map[string]string{}
	for _, v := range c.env.Needed() {
		if other, ok := first[v.Name]; ok {
			c.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: v.Path, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("uses the environment variable %s, as does %s", v.Name, other),
				Fix:    "choose another id for the provider",
			})
			continue
		}
		first[v.Name] = v.Path
	}
	c.checkSharedVariables(first)
	c.names()
	c.overrides()
	c.unset()
}

// unset warns about references of the spec to variables without a default that only the image could set. It skips specs
// with envFrom, which can set any variable.
func (c *check) unset() {
	if w := c.spec.Workload; w != nil && w.Overrides != nil && len(w.Overrides.EnvFrom) > 0 {
		return
	}
	written, err := json.Marshal(map[string]any{
		"providers": c.spec.Providers, "externalProviders": c.spec.ExternalProviders, "resources": c.spec.Resources,
		"storage": c.spec.Storage, "auth": c.spec.Auth,
	})
	if err != nil || !bytes.Contains(written, []byte("${env.")) {
		return // other problems report invalid JSON
	}
	given, missing := c.env.Given(), document.Variables{}
	for _, name := range document.RequiredVariables(c.doc.Root()) {
		missing[name] = true
	}
	maps.DeleteFunc(missing, func(name string, _ bool) bool {
		return slices.Contains(environment.RuntimeVariables, name) ||
			slices.Contains(c.containerVariables, name) || given[name]
	})
	var fields any
	if len(missing) == 0 || json.Unmarshal(written, &fields) != nil {
		return
	}
	reported := map[string]bool{}
	for _, p := range c.problems.List() {
		reported[p.Path] = true
	}
	walkTexts(fields, "spec", func(path, s string) {
		names := slices.DeleteFunc(document.RequiredVariables(document.String(s)), func(name string) bool {
			return !missing[name]
		})
		slices.Sort(names)
		names = slices.Compact(names)
		if len(names) == 0 || reported[path] {
			return
		}
		c.problems.Add(problem.Problem{
			Reason: problem.UndefinedVariable, Severity: problem.Warning, Path: path,
			Detail: "refers to the environment variable " + limits.List(names, " and ") +
				", which the spec does not set: unless the image sets it, the server does not start",
			Fix: fmt.Sprintf("set it in spec.workload.overrides.env, or give it a default: ${env.%s:=…}", names[0]),
		})
	})
}

// walkTexts visits the strings of a tree with their paths, in sorted order.
func walkTexts(value any, path string, visit func(path, text string)) {
	switch v := value.(type) {
	case string:
		visit(path, v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walkTexts(v[key], limits.Join(path, "."+key), visit)
		}
	case []any:
		for i, item := range v {
			walkTexts(item, limits.Join(path, fmt.Sprintf("[%d]", i)), visit)
		}
	}
}

// overrides removes overridden variables with a warning. Overriding a Secret value or the log level is an error.
func (c *check) overrides() {
	byName, replaced := make(map[string]environment.Variable, len(c.env.Needed())), document.Variables{}
	for _, generated := range c.env.Needed() {
		byName[generated.Name] = generated
	}
	for i, v := range c.env.Overrides() {
		generated, overridden := byName[v.Name]
		if !overridden || replaced[v.Name] {
			continue
		}
		path := fmt.Sprintf("spec.workload.overrides.env[%d]", i)
		if generated.Ref.Name != "" || generated.Name == c.line.LogEnv {
			c.problems.Add(problem.Problem{
				Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("sets %s, which the operator sets for %s", v.Name, generated.Path),
				Fix:    "remove one of them",
			})
			continue
		}
		c.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Severity: problem.Warning, Path: path,
			Detail: fmt.Sprintf("overrides %s, which the operator sets for %s", v.Name, generated.Path),
			Fix:    "remove it unless this is intended",
		})
		replaced[v.Name] = true
	}
	c.env.Remove(replaced)
}

// checkSharedVariables reports other databases' clients that would read a variable of the storage, such as its
// password.
func (c *check) checkSharedVariables(owners map[string]string) {
	backends := c.doc.Backends()
	for _, name := range document.Keys(backends) {
		entry := document.Child(backends, name)
		if row, ok := c.line.Backends[document.Text(document.Child(entry, "type"))]; ok && !c.configured[name] {
			c.checkSharedVariable(
				"the storage backend "+name,
				"config.yaml: storage.backends."+name,
				row.Environment,
				entry,
				owners,
			)
		}
	}
	for entry := range c.doc.Providers() {
		row, ok := c.line.Provider(entry.API, entry.Type())
		if !ok || len(row.Environment) == 0 || !c.env.Given().MayEnable(entry.Identity()) {
			continue
		}
		id, path := entry.Identity().ID, "config.yaml: "+entry.Path()+".config"
		if at := c.configuredAt(entry.API, id); at != "" {
			path = at
		}
		c.checkSharedVariable("the provider "+id, path, row.Environment, entry.Config(), owners)
	}
}

func (c *check) checkSharedVariable(
	subject, path string,
	reads map[string]string,
	config *yaml.Node,
	owners map[string]string,
) {
	var tls string
	for _, variable := range slices.Sorted(maps.Keys(reads)) {
		from, set := owners[variable]
		name := reads[variable]
		if !set || name != "" && c.env.Given().HasValue(document.Child(config, name)) {
			continue
		}
		if variable != "PGPASSWORD" {
			tls = from
			continue
		}
		c.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("%s does not set its own %s, so it would send that of %s to its database", subject, name, from),
			Fix:    "set one" + storage.SeparatePasswordsFix(c.line),
		})
	}
	if tls != "" {
		c.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Severity: problem.Warning, Path: path,
			Detail: fmt.Sprintf("%s also uses the TLS mode of %s, if one is set", subject, tls),
			Fix:    "use the same TLS mode for both databases" + storage.SeparatePasswordsFix(c.line),
		})
	}
}

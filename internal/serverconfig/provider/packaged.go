// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// PackagedEntry is an entry with a provider type from a package, which the catalog does not know.
type PackagedEntry struct {
	// API is the API of the entry, and Spec is the entry in the spec.
	API  parse.ProviderAPI
	Spec *parse.Provider
	// Package describes the package. If it is nil (unknown), dependent checks are skipped.
	Package *parse.ProviderPackage
}

// Put replaces the entries of the configuration with the same id, and returns the status entry. It copies nothing from
// a replaced entry, whose type differs.
func (e *PackagedEntry) Put(doc *document.Document, line *catalog.Line, env *environment.Set,
	problems *problem.Collector) Entry {
	p := &Provider{schema: schema{line: line, api: e.API.Name, name: e.Spec.Type}, spec: e.Spec,
		assigned: map[string]string{}}
	if e.Spec.Endpoint != "" {
		path := p.Path() + ".endpoint"
		for _, v := range ResolveEndpoint(e.Spec.Endpoint, path, nil, problems) {
			if name, ok := e.fieldFor("endpoint", "set the package's own field under config", problems); ok {
				p.assign(name, v.Node, path, problems)
			}
		}
	}
	if e.Spec.APIKey != nil {
		const fix = "set the package's own field under secretRefs, for example secretRefs: {api_token: {name: <Secret>, " +
			"key: <key within it>}}"
		if name, ok := e.fieldFor(apiKey, fix, problems); ok {
			p.assignSecret(name, APIKeyUse(e.Spec), problems)
		}
	}
	p.assignSecretRefs(problems)
	p.checkSettings(problems)
	checkCredentials(p.schema, e.Spec, problems)
	entry := p.entry(template{}, doc)
	if e.Package != nil {
		config := document.Child(entry, "config")
		document.Drop(entry, "config")
		document.Set(entry, "module", document.String(e.Package.PackageName))
		if config != nil {
			document.Set(entry, "config", config)
		}
	}
	put(doc, line, e.API.Name, p.ID(), entry)
	env.Add(p.variables...)
	return p.statusEntry(entry)
}

// fieldFor returns the config field for a field of the entry, as the package defines it.
func (e *PackagedEntry) fieldFor(name, fix string, problems *problem.Collector) (string, bool) {
	if e.Package == nil {
		return name, true
	}
	target := e.Package.EndpointField
	if name == apiKey {
		target = e.Package.KeyField
	}
	if target == "" {
		problems.Add(problem.Problem{
			Reason: problem.UnknownField, Path: e.Spec.Path + "." + name, Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("the package %s does not map it to a config field in spec.fields",
				e.Package.PackageName), Fix: fix,
		})
	}
	return target, target != ""
}

// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Input is the input of Check, CheckShape and CheckEnvironment.
type Input struct {
	// Own means that the document is the user's own file, which no spec changes.
	Own bool
	// Document is the complete configuration.
	Document *document.Document
	Line     *catalog.Line
	// Release is the server's release, if known.
	Release string
	// Spec is the spec of the custom resource, and Providers are its parsed providers.
	Spec      *v1alpha2.LlamaStackDistributionSpec
	Providers []parse.ProviderGroup
	// Backends are the names of the storage backends in the spec.
	Backends    map[string]bool
	Environment *environment.Set
	// ContainerVariables are the other environment variables of the server's container.
	ContainerVariables []string
}

type check struct {
	own                bool
	ctx                context.Context
	doc                *document.Document
	line               *catalog.Line
	release            string
	spec               *v1alpha2.LlamaStackDistributionSpec
	groups             []parse.ProviderGroup
	env                *environment.Set
	problems           *problem.Collector
	containerVariables []string
	configured         map[string]bool
	// providers caches the providers by API.
	providers map[string]*document.ProviderSet
}

// Check reports broken references, which would crash the server or disable features. It stops when the context ends.
func Check(ctx context.Context, in *Input, problems *problem.Collector) {
	c := newCheck(ctx, in, problems)
	c.references()
	c.backends()
	c.unusedBackends()
	c.apis()
	c.needs()
	c.locations()
	c.defaultEmbeddingModel()
}

// CheckShape reports bases that the server's loader refuses, as warnings if the server release is newer than the known
// one. It does nothing after an error, because an invalid field leaves the configuration incomplete.
func CheckShape(ctx context.Context, in *Input, problems *problem.Collector) {
	if problems.HasErrors() {
		return
	}
	s := shape{checker: newCheck(ctx, in, problems), severity: problem.Error, severityOfTypes: problem.Error}
	newer, later := in.Line.Predates(in.Release)
	if newer {
		s.severity = problem.Warning
	}
	if later {
		s.severityOfTypes = problem.Warning
	}
	s.check()
}

// CheckEnvironment checks that each variable has one meaning and reaches only its intended readers. It removes
// overridden variables from the environment.
func CheckEnvironment(ctx context.Context, in *Input, problems *problem.Collector) {
	newCheck(ctx, in, problems).environment()
}

func newCheck(ctx context.Context, in *Input, problems *problem.Collector) *check {
	return &check{
		ctx: ctx, doc: in.Document, line: in.Line, release: in.Release, own: in.Own, spec: in.Spec, groups: in.Providers,
		env: in.Environment, problems: problems,
		configured: in.Backends, containerVariables: in.ContainerVariables, providers: map[string]*document.ProviderSet{},
	}
}

func (c *check) providersOf(api string) *document.ProviderSet {
	if c.providers[api] == nil {
		c.providers[api] = c.doc.Lookup(api, c.env.Given())
	}
	return c.providers[api]
}

// configuredAt returns the field of the spec that configures a provider, or "" for one of the base.
func (c *check) configuredAt(api, id string) string {
	if p := parse.Find(c.groups, api, id); p != nil {
		return p.Path
	}
	return ""
}

// broken reports a reference to a missing name; known are the existing names.
func (c *check) broken(path, detail string, known []string) {
	fix := "none exists"
	if len(known) > 0 {
		fix = "name one of " + limits.Names(known)
	}
	c.problems.Add(problem.Problem{
		Reason: problem.BrokenReference, Path: "config.yaml: " + path, Type: field.ErrorTypeInvalid,
		Detail: detail,
		Fix:    fix + c.origin("; the reference comes from the base configuration ", " or from settings of a provider"),
	})
}

// inconsistent reports another contradiction in the configuration.
func (c *check) inconsistent(path, detail, fix string) {
	c.problems.Add(problem.Problem{
		Reason: problem.BrokenReference, Path: "config.yaml: " + path, Type: field.ErrorTypeInvalid,
		Detail: detail,
		Fix:    fix + c.origin("; it comes from the base configuration ", ""),
	})
}

// origin names the base between two texts, or returns "" for the user's own file.
func (c *check) origin(before, after string) string {
	if c.own {
		return ""
	}
	return before + c.doc.Base().Name() + after
}

// disable returns the fix that leaves an API out.
func (c *check) disable(api string) string {
	if c.own {
		return "remove " + api
	}
	return "disable " + api + " in spec.disabled"
}

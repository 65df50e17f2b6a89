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

// Input is what Check needs.
type Input struct {
	// Document is the complete configuration.
	Document *document.Document
	// Line is the release line of the server.
	Line *catalog.Line
	// Release is the server's release; empty where it is not known.
	Release string
	// Spec is the spec of the custom resource, and Providers the parsed providers of it.
	Spec      *v1alpha2.LlamaStackDistributionSpec
	Providers []parse.ProviderGroup
	// Backends are the names of the storage backends that the spec configures.
	Backends map[string]bool
	// Environment are the variables of the server.
	Environment *environment.Set
	// OfContainer are the names of variables that the server's container has beside those.
	OfContainer []string
}

// check is one run of Check.
type check struct {
	ctx      context.Context
	doc      *document.Document
	line     *catalog.Line
	release  string
	spec     *v1alpha2.LlamaStackDistributionSpec
	groups   []parse.ProviderGroup
	env      *environment.Set
	problems *problem.Collector
	// ofContainer are the names of variables that the container has beside env.
	ofContainer []string
	// configured are the names of the storage backends that the spec configures.
	configured map[string]bool
	// providers are those of each API that was asked for: nothing changes them during a check.
	providers map[string]*document.ProviderSet
}

// Check makes sure that everything that the configuration names is there: the server would otherwise crash on start, or
// come up without what was asked for. It ends early when the context ends.
func Check(ctx context.Context, in *Input, problems *problem.Collector) {
	c := newCheck(ctx, in, problems)
	c.references()
	c.backends()
	c.apis()
	c.needs()
	c.locations()
}

// CheckShape makes sure that the configuration has what the server's loader demands of it whatever a custom resource
// says: it reports bases that the server refuses. What a server may take whose release is newer than what is known, is
// a warning. What the custom resource configures has been checked before; after an error, nothing is: what a wrong
// field of the spec leaves out does not count.
func CheckShape(ctx context.Context, in *Input, problems *problem.Collector) {
	if problems.HasErrors() {
		return
	}
	s := shape{of: newCheck(ctx, in, problems), severity: problem.Error, severityOfTypes: problem.Error}
	newer, later := in.Line.Predates(in.Release)
	if newer {
		s.severity = problem.Warning
	}
	if later {
		s.severityOfTypes = problem.Warning
	}
	s.check()
}

// CheckEnvironment makes sure that every variable that the configuration needs means one thing, and reaches only what
// it is meant for. Variables that the user sets instead of the operator are removed from the environment.
func CheckEnvironment(ctx context.Context, in *Input, problems *problem.Collector) {
	newCheck(ctx, in, problems).environment()
}

func newCheck(ctx context.Context, in *Input, problems *problem.Collector) *check {
	return &check{
		ctx: ctx, doc: in.Document, line: in.Line, release: in.Release, spec: in.Spec, groups: in.Providers,
		env: in.Environment, problems: problems,
		configured: in.Backends, ofContainer: in.OfContainer, providers: map[string]*document.ProviderSet{},
	}
}

// providersOf returns the providers of an API.
func (c *check) providersOf(api string) *document.ProviderSet {
	if c.providers[api] == nil {
		c.providers[api] = c.doc.Lookup(api, c.env.Given())
	}
	return c.providers[api]
}

// configuredAt returns the field of the spec that configures a provider; empty where the base's own has this id.
func (c *check) configuredAt(api, id string) string {
	if p := parse.Find(c.groups, api, id); p != nil {
		return p.Path
	}
	return ""
}

// broken reports a reference to what is not there; known is what is.
func (c *check) broken(path, detail string, known []string) {
	fix := "there is none at all"
	if len(known) > 0 {
		fix = "name one of " + limits.Names(known)
	}
	c.problems.Add(problem.Problem{
		Reason: problem.BrokenReference, Path: "config.yaml: " + path, Type: field.ErrorTypeInvalid,
		Detail: detail,
		Fix: fix + "; the reference comes from the base configuration " + c.doc.Base().Name() + " or from settings of a " +
			"provider",
	})
}

// faulty reports what else makes the configuration contradict itself.
func (c *check) faulty(path, detail, fix string) {
	c.problems.Add(problem.Problem{
		Reason: problem.BrokenReference, Path: "config.yaml: " + path, Type: field.ErrorTypeInvalid,
		Detail: detail,
		Fix:    fix + "; it comes from the base configuration " + c.doc.Base().Name(),
	})
}

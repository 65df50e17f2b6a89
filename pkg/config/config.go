// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/storage"
)

// Base is a parsed base configuration: parse once, generate often.
type Base = document.Base

// ProviderName tells providers of a server apart.
type ProviderName = document.ProviderName

// ParseBase reads a base configuration. The name stands in the header of what is generated from it. The error tells what is wrong,
// where possible with the line.
func ParseBase(name string, data []byte) (*Base, error) { return document.ParseBase(name, data) }

// Input is everything that a configuration is made from. Spec, Base and Line are required.
type Input struct {
	// Name and Namespace are those of the resource; they stand in the header comment and nowhere else.
	Name, Namespace string
	// Spec is the spec of the resource. It is not changed.
	Spec *v1alpha2.LlamaStackDistributionSpec
	// Base is the configuration that the spec is laid over.
	Base *document.Base
	// Line is the release line of the server.
	Line *catalog.Line
}

// Result is a generated configuration.
type Result struct {
	// YAML is the complete config.yaml, with a comment header that names the resource, the release line and the base.
	YAML []byte
	// Env are the environment variables that the server needs beside the YAML: first those from Secrets, then the plain ones, for
	// their values may refer to the former; each sorted by name. The order must be kept.
	Env []EnvVar
	// Providers are the providers of the resource as generated, in its order; the exporter of telemetry is none.
	Providers []ProviderEntry
	// Expected are all providers that the server must list: those of the resource and those of the base that no environment variable turns
	// off, in the order of the file.
	Expected []document.ProviderName
	// ProviderCount and ResourceCount count the entries of the resource, not those of the base.
	ProviderCount, ResourceCount int32
	// Version is the schema version of the YAML.
	Version int32
}

// EnvVar is an environment variable of the server: one key of a Secret, or a plain value.
type EnvVar = environment.Variable

// SecretUse is one key of a Secret that the spec reads, and the environment variable that carries it.
type SecretUse = environment.SecretUse

// Part is what of a Secret's value an environment variable carries.
type Part = environment.Part

// ProviderEntry is one provider of the resource as generated.
type ProviderEntry struct {
	// API is the server's name of the API: "inference".
	API string
	// ID is the provider_id.
	ID string
	// Type is the provider_type: "remote::vllm".
	Type string
	// Config is the provider's config, with ${env.…} where secrets go.
	Config json.RawMessage
}

// Generate makes the configuration. The result is nil exactly when the findings have errors; warnings may come with
// a result. The work grows linearly with the spec. When the context ends, the work ends too, and the only finding has the
// code Canceled.
func Generate(ctx context.Context, in Input) (*Result, Findings) {
	if errs := v1alpha2.CheckBounds(in.Spec); len(errs) > 0 {
		var findings report
		findings.failFields(errs)
		return nil, findings.all()
	}
	g := &generation{Input: in, ctx: ctx, doc: in.Base.Edit(), env: environment.NewSet(in.Spec)}
	version := g.schemaVersion()
	if !g.run(g.refuseUnsupported, g.parse) {
		return nil, g.refusal()
	}
	if !g.run(g.applyServer, g.applyStorage, g.applyTelemetry, g.applyProviders, g.applyModels, g.applyShields, g.applyTools,
		g.applyDisabled, g.checkIntegrity, g.checkEnvironment) {
		return nil, g.refusal()
	}
	rendered, err := g.doc.Write(ctx, in.header())
	switch {
	case g.stopped():
		return nil, g.refusal()
	case errors.Is(err, document.ErrTooLarge):
		g.findings.fail(TooLarge, "spec", fmt.Sprintf("the config.yaml that it asks for is larger than %d bytes", bounds.ConfigBytes),
			"configure less, or use several LlamaStackDistributions")
		return nil, g.findings.all()
	case err != nil:
		g.findings.fail(InvalidBase, "base configuration "+g.Base.Name(), "cannot be written as YAML: "+err.Error(), document.BaseForm)
		return nil, g.findings.all()
	}
	g.env.Sort()
	return &Result{
		YAML:          rendered,
		Env:           g.env.Needed(),
		Providers:     g.entries,
		Expected:      g.doc.EnabledProviders(g.env.Given()),
		ProviderCount: int32(len(g.entries) + g.exporters),                  //nolint:gosec // an object of 1.5 MB holds far fewer
		ResourceCount: int32(len(g.models) + len(g.shields) + len(g.tools)), //nolint:gosec // as above
		Version:       version,
	}, g.findings.all()
}

// header is the comment above the configuration. It says nothing that changes without the content.
func (in *Input) header() string {
	return fmt.Sprintf("# Generated for the %s %s/%s: edit that resource, not this file.\n# Server release line: %s\n# Base configuration: %s\n",
		v1alpha2.Kind, in.Namespace, in.Name, in.Line.Name, in.Base.Name())
}

// generation is one run of Generate. The steps fill it in the order of Generate.
type generation struct {
	Input
	// ctx is that of the run.
	ctx context.Context
	// doc is the configuration that is edited: the base's own copy.
	doc      *document.Document
	findings report

	// groups, models, shields and tools are the parsed spec without what is disabled, set by parse.
	groups  []v1alpha2.ProviderGroup
	models  []v1alpha2.ModelConfig
	shields []v1alpha2.ShieldConfig
	tools   []v1alpha2.ToolConfig
	// off are the APIs that spec.disabled names, in its order; set by parse.
	off []string

	// exporters is how many exporters of telemetry the resource has, set by applyTelemetry.
	exporters int

	// env are the variables of the server; applyStorage, applyTelemetry and applyProviders add to it.
	env *environment.Set

	// providers and entries are set by applyProviders.
	providers []*provider
	entries   []ProviderEntry

	// storageNames are the storage backends that the resource configures, set by applyStorage.
	storageNames map[string]bool

	// connectors and groupEntries are the entries of these lists by their ids, set by applyTools.
	connectors, groupEntries map[string]*yaml.Node

	// uses are the providers that models, shields and tools of the resource use; set by the steps that apply these.
	uses []providerUse
}

// run takes steps, and tells whether what they made is complete and right.
func (g *generation) run(steps ...func()) bool {
	for _, step := range steps {
		if g.stopped() {
			return false
		}
		step()
	}
	return !g.stopped() && !g.findings.HasErrors()
}

// stopped tells whether nobody waits for the result any more. Steps with long lists ask for every item.
func (g *generation) stopped() bool { return g.ctx.Err() != nil }

// refusal is what Generate returns where there is no result.
func (g *generation) refusal() Findings {
	if !g.stopped() {
		return g.findings.all()
	}
	return Findings{{
		Code: Canceled, Severity: Error, Path: "spec", Message: "the configuration is not complete: " + context.Cause(g.ctx).Error(), Mending: "trying again",
	}}
}

// providerUse is a provider that a resource of the custom resource uses.
type providerUse struct {
	api, id string
	// path is the field of the custom resource that uses it.
	path string
}

// The schema versions of config.yaml that this operator can edit: the previous and the current one.
const (
	previousVersion = 1
	currentVersion  = 2
)

// schemaVersion returns the version of the base; a base without one has the current one, as the server sees it.
func (g *generation) schemaVersion() int32 {
	version, given := g.doc.Version()
	switch {
	case !given, version == "2":
		return currentVersion
	case version == "1":
		return previousVersion
	}
	if version == "" {
		version = "(not a number)"
	}
	g.findings.fail(UnsupportedVersion, "config.yaml: version",
		fmt.Sprintf("Unsupported config.yaml version %s. Supported versions: %d, %d", version, previousVersion, currentVersion),
		"use a distribution whose configuration has one of these versions, or an operator that knows this one")
	return 0
}

// parse reads the open fields of the spec.
func (g *generation) parse() {
	groups, errs := v1alpha2.ParseProviders(g.Spec.Providers)
	g.findings.failFields(errs)
	g.groups = groups
	if r := g.Spec.Resources; r != nil {
		g.models, errs = v1alpha2.ParseModels(r.Models)
		g.findings.failFields(errs)
		g.shields, errs = v1alpha2.ParseShields(r.Shields)
		g.findings.failFields(errs)
		g.tools, errs = v1alpha2.ParseTools(r.Tools)
		g.findings.failFields(errs)
	}
	g.parseDisabled()
	secretUses(g.Spec, g.groups, &g.findings)
}

// applyStorage applies spec.storage.
func (g *generation) applyStorage() {
	g.storageNames = storage.Apply(g.doc, g.Line, g.Spec.Storage, g.env, &g.findings.Collector)
}

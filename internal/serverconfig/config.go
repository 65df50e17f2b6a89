// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/auth"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/disabled"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/external"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/resource"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/server"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// Base is a parsed base configuration: parse once, generate often.
type Base = document.Base

// ProviderName distinguishes providers of a server.
type ProviderName = document.ProviderName

// ParseBase reads a base configuration. The name stands in the header of what is generated from it. The error reports
// what is wrong, where possible with the line number.
func ParseBase(name string, data []byte) (*Base, error) { return document.ParseBase(name, data) }

// Input is everything that a configuration is made from. Spec, Base and Line are required.
type Input struct {
	// Name and Namespace are those of the resource; they stand in the header comment and nowhere else.
	Name, Namespace string
	// Spec is the spec of the resource, as parse.Parse returns it. It is not changed.
	Spec *parse.Spec
	// Base is the configuration that the spec is laid over.
	Base *document.Base
	// Line is the release line of the server.
	Line *catalog.Line
	// Release is the server's release; empty where it is not known. What the release line refuses of a base is a warning
	// where the release is newer.
	Release string
	// Packages is what is known of the packages of external providers, by image as the spec names it. One that is missing
	// is being read.
	Packages map[string]PackageFound
	// Variables are the names of environment variables that the container has beside those of the Result and of the spec:
	// what the caller sets by itself. A reference to any other variable brings a warning.
	Variables []string
	// SecretVariables are the names of those that the envFrom of the spec takes from Secrets, where that is known.
	SecretVariables []string
}

// Result is a generated configuration.
type Result struct {
	// YAML is the complete config.yaml, with a comment header that names the resource, the release line and the base.
	YAML []byte
	// Env are the environment variables that the server needs beside the YAML: first those from Secrets, then the plain
	// ones, for their values may refer to the former; each sorted by name. The order must be kept.
	Env []EnvVar
	// Providers are the providers of the resource as generated, in its order; the exporter of telemetry does not count.
	Providers []ProviderEntry
	// External are the external providers, in the order of the resource: what has to be in the pod.
	External []ExternalProvider
	// Expected are all providers that the server must list: those of the resource and those of the base that no
	// environment variable turns off, in the order of the file.
	Expected []document.ProviderName
	// Registered are the resources of the spec that the server lists, by the names under which it lists them.
	Registered []Registered
	// LocalState names what the server keeps on the disk of its own pod, sorted.
	LocalState []string
	// ProviderCount and ResourceCount count the entries of the resource, not those of the base.
	ProviderCount, ResourceCount int32
	// ModelCount, ShieldCount, VectorStoreCount and ToolCount are the parts of ResourceCount.
	ModelCount, ShieldCount, VectorStoreCount, ToolCount int32
	// Version is the schema version of the YAML.
	Version int32
	// TLS is what the YAML says about encryption.
	TLS TLS
	// Auth is what the YAML says about who may call the server.
	Auth Auth
}

// Auth is what a configuration says about who may call the server.
type Auth = auth.Auth

// ClusterCADir is where the CA certificates of the cluster's API server are in the container, where Auth.ClusterCA says
// so.
const ClusterCADir = auth.ClusterCADir

// AuthOf returns what a base says about who may call the server, for an image that runs it unchanged.
func AuthOf(base *Base) Auth { return auth.Read(base.Root()) }

// TLS is what a configuration says about encryption.
type TLS = server.TLS

// Where the certificate of spec.networking.tls is in the container: the directory, and the files.
const (
	TLSDir      = server.TLSDir
	TLSCertFile = server.TLSCertFile
	TLSKeyFile  = server.TLSKeyFile
)

// TLSEnabled reports whether a spec asks for TLS.
func TLSEnabled(spec *v1alpha2.LlamaStackDistributionSpec) bool { return server.TLSEnabled(spec) }

// TLSOf returns what a base says about encryption, for an image that runs it unchanged.
func TLSOf(base *Base) TLS { return server.ReadTLS(base.Root()) }

// EnvVar is an environment variable of the server: one key of a Secret, or a plain value.
type EnvVar = environment.Variable

// SecretUse is one key of a Secret that the spec reads, and the environment variable that carries it.
type SecretUse = environment.SecretUse

// Part is what of a Secret's value an environment variable carries.
type Part = environment.Part

// ProviderEntry is one provider of the resource as generated.
type ProviderEntry = provider.Entry

// Registered is a resource of the spec in a list of the server.
type Registered = resource.Registered

// The lists of a server in which its resources are.
const (
	ListModels       = resource.ListModels
	ListVectorStores = resource.ListVectorStores
	ListToolGroups   = resource.ListToolGroups
	ListConnectors   = resource.ListConnectors
)

// PackageFound is what is known of the package in the image of an external provider.
type PackageFound = external.Found

// ExternalProvider is one external provider of a configuration: what has to be in the pod.
type ExternalProvider = external.Installed

// ReadPackage reads the file that describes the package in the image of an external provider. The error reports what is
// wrong with it.
func ReadPackage(data []byte) (*parse.ProviderPackage, error) { return external.ReadPackage(data) }

// Generate makes the configuration. The result is nil exactly when the problems have errors; warnings may come with a
// result. The work grows linearly with the spec. When the context ends, the work ends too, and the only problem has the
// reason LookupFailed.
//
// The steps stand in the order in which they run. Each takes what it needs and adds its problems to one collector, and
// knows only packages below it. They run also where some of the spec cannot be read, so that the user hears of
// everything at once; what only follows from that is left out.
func Generate(ctx context.Context, in Input) (*Result, problem.List) {
	problems := &problem.Collector{}
	spec := readSpec(&in, problems)
	doc, env := in.Base.Edit(), environment.NewSet(in.Spec.Source, in.SecretVariables...)
	version := release.SchemaVersion(doc, problems)
	misread := problems.List().Errors()
	if in.Spec.TooLarge || version == 0 || len(misread) > limits.Problems || ctx.Err() != nil {
		return nil, refusal(ctx, problems)
	}
	if len(misread) > 0 {
		problems.Skip = newMisreading(misread).causes
	}
	telemetry := spec.exporters()

	server.Apply(doc, in.Line, in.Spec.Source, problems)
	auth.CheckBase(doc, in.Line, in.Release, problems)
	auth.Apply(doc, in.Line, in.Spec.Auth, env, problems)
	backends := storage.Apply(doc, in.Line, in.Spec.Source.Storage, env, problems)
	auth.CheckTenants(doc, in.Line, in.Spec.Auth, problems)
	if in.Spec.Auth != nil && auth.Read(doc.Root()).Separates {
		storage.KeepVectorStores(doc, in.Line)
	}
	server.ApplyTelemetry(&server.Telemetry{Document: doc, Line: in.Line, Environment: env, Name: in.Name,
		Exporters: telemetry}, problems)
	providers := provider.Apply(ctx, doc, in.Line, spec.Providers, env, problems)
	externals := &external.Input{Document: doc, Line: in.Line, Environment: env, Providers: spec.External,
		Packages: in.Packages}
	added, installed := external.Apply(ctx, externals, problems)
	all := external.Groups(spec.Providers, spec.External, in.Packages)
	uses, registered := resource.Apply(ctx, &resource.Input{
		Document: doc, Line: in.Line, Environment: env, Providers: all, Models: spec.Models, Shields: spec.Shields,
		VectorStores: spec.VectorStores, Tools: spec.Tools,
	}, problems)
	disabled.Apply(&disabled.Input{Document: doc, Line: in.Line, APIs: spec.disabled, Providers: all, Uses: uses},
		problems)
	made := &integrity.Input{
		Document: doc, Line: in.Line, Release: in.Release, Spec: in.Spec.Source, Providers: all, Backends: backends,
		Environment: env, OfContainer: in.Variables,
	}
	checkIntegrity(ctx, made, problems)

	if problems.HasErrors() || ctx.Err() != nil {
		return nil, refusal(ctx, problems)
	}
	written := write(ctx, &in, doc, problems)
	if written == nil {
		return nil, refusal(ctx, problems)
	}
	env.Sort()
	providers = append(providers, added...)
	return &Result{
		YAML:       written,
		Env:        env.Needed(),
		Providers:  providers,
		External:   installed,
		Expected:   doc.EnabledProviders(env.Given()),
		Registered: registered,
		LocalState: localState(doc, env.Given()),
		//nolint:gosec // a spec of 1.5 MB has fewer
		ProviderCount: int32(len(providers) + len(telemetry)),
		//nolint:gosec // as above
		ResourceCount: int32(len(spec.Models) + len(spec.Shields) + len(spec.VectorStores) + len(spec.Tools)),

		ModelCount:       int32(len(spec.Models)),       //nolint:gosec // as above
		ShieldCount:      int32(len(spec.Shields)),      //nolint:gosec // as above
		VectorStoreCount: int32(len(spec.VectorStores)), //nolint:gosec // as above
		ToolCount:        int32(len(spec.Tools)),        //nolint:gosec // as above
		Version:          version,
		TLS:              server.ReadTLS(doc.Root()),
		Auth:             auth.Read(doc.Root()),
	}, problems.List()
}

func checkIntegrity(ctx context.Context, made *integrity.Input, problems *problem.Collector) {
	integrity.Check(ctx, made, problems)
	integrity.CheckShape(ctx, made, problems)
	integrity.CheckEnvironment(ctx, made, problems)
}

// parsedSpec is the spec without what it disables.
type parsedSpec struct {
	disabled.Spec
	// disabled are the APIs that spec.disabled names.
	disabled []string
}

// exporters returns the providers of telemetry.
func (s *parsedSpec) exporters() []parse.Provider {
	for _, group := range s.Providers {
		if group.API == parse.APITelemetry {
			return group.Providers
		}
	}
	return nil
}

// readSpec takes out what the spec disables; nil where the spec is over its bounds, and nothing else is worked on.
func readSpec(in *Input, problems *problem.Collector) *parsedSpec {
	parsed, source := in.Spec, in.Spec.Source
	if parsed.TooLarge {
		problems.AddAll(parsed.Problems)
		return nil
	}
	problems.AddAll(parsed.Problems)
	s := &parsedSpec{Spec: disabled.Spec{
		Names:     source.Disabled,
		Providers: slices.Clone(parsed.Providers),
		External:  parsed.External,
		Models:    parsed.Models, Shields: parsed.Shields, VectorStores: parsed.VectorStores, Tools: parsed.Tools,
	}}
	s.disabled = disabled.Read(&s.Spec, in.Line, problems)
	s.Providers = external.Replace(s.Providers, s.External, problems)
	secretUses(parsed, s.Providers, s.External, problems)
	return s
}

// CheckSpec returns what is wrong with a spec whatever base and release line it meets: part of what Generate reports.
func CheckSpec(spec *parse.Spec) problem.List {
	problems := &problem.Collector{}
	readSpec(&Input{Spec: spec}, problems)
	return problems.List()
}

// write returns the configuration as YAML; nil where it cannot be written, which is reported.
func write(ctx context.Context, in *Input, doc *document.Document, problems *problem.Collector) []byte {
	written, err := doc.Write(ctx, in.header())
	switch {
	case err == nil:
		return written
	case errors.Is(err, document.ErrTooLarge):
		problems.Add(problem.Problem{
			Reason: problem.TooLarge, Path: "spec", Type: field.ErrorTypeTooLong,
			Detail: fmt.Sprintf("the config.yaml that it asks for is larger than %d bytes", limits.ConfigBytes),
			Fix:    "configure less, or use several LlamaStackDistributions",
		})
	case ctx.Err() == nil:
		problems.Add(problem.Problem{
			Reason: problem.InvalidBaseConfig, Path: "base configuration " + in.Base.Name(), Type: field.ErrorTypeInvalid,
			Detail: "cannot be written as YAML: " + err.Error(), Fix: document.BaseForm,
		})
	}
	return nil
}

// refusal is what Generate returns where there is no result.
func refusal(ctx context.Context, problems *problem.Collector) problem.List {
	if p := Incomplete(ctx); p != nil {
		return problem.List{*p}
	}
	return problems.List()
}

// Incomplete is the problem of work that is not complete because its context has ended; nil while the context goes on.
func Incomplete(ctx context.Context) *problem.Problem {
	cause := context.Cause(ctx)
	if cause == nil {
		return nil
	}
	return problem.New(problem.Problem{
		Reason: problem.LookupFailed, Path: "spec", Detail: "the configuration is not complete: " + cause.Error(),
		Fix: "trying again", Err: cause,
	})
}

// header is the comment above the configuration. It says nothing that changes without the content.
func (in *Input) header() string {
	return fmt.Sprintf("# Generated for the %s %s/%s: edit that resource, not this file.\n# Server release line: %s\n# "+
		"Base configuration: %s\n",
		v1alpha2.Kind, in.Namespace, in.Name, in.Line.Name, in.Base.Name())
}

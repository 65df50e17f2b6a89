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

// Base is a parsed base configuration, for any number of Generate calls.
type Base = document.Base

// ProviderName identifies a provider of a server.
type ProviderName = document.ProviderName

// ParseBase parses a base configuration. The name appears in the header of generated files.
func ParseBase(name string, data []byte) (*Base, error) { return document.ParseBase(name, data) }

// Input is the input of Generate. Spec, Base and Line are required.
type Input struct {
	// Name and Namespace are those of the custom resource, for the header comment.
	Name, Namespace string
	// ClusterName is the name of the cluster for telemetry; may be empty.
	ClusterName string
	// Spec is the parsed spec. It is not changed.
	Spec *parse.Spec
	Base *document.Base
	Line *catalog.Line
	// Release is the server's release, if known. If it is newer than Line, rejections of the base are warnings.
	Release string
	// Packages are the packages of external providers, by image. A missing one is still being read.
	Packages map[string]PackageResult
	// Variables are other environment variables of the container; references to undefined variables cause warnings.
	Variables []string
	// SecretVariables are the variables that the spec's envFrom takes from Secrets, if known.
	SecretVariables []string

	// inspect, if not nil, receives the checked configuration, which is then not written.
	inspect func(*document.Document)
}

// Result is a generated configuration.
type Result struct {
	// YAML is the config.yaml, with a header that names the custom resource, the release line and the base.
	YAML []byte
	// Env are the environment variables. Keep the order: plain values may refer to those from Secrets before them.
	Env []EnvVar
	// Providers are the generated providers of the custom resource, in its order, without telemetry exporters.
	Providers []ProviderEntry
	// External are the external providers to install in the pod, in the order of the spec.
	External []ExternalProvider
	// Expected are all providers that the server must list, in file order, without those that the environment turns off.
	Expected []document.ProviderName
	// Registered are the resources of the spec by their names in the server's lists.
	Registered []Registered
	// RegisteredModels are the names in client requests of all models that the configuration registers; nil if a name
	// depends on the environment.
	RegisteredModels []string
	// LocalModels are the registered models that the server loads from Hugging Face, by their ids there.
	LocalModels []string
	LocalState  LocalState
	// StateFiles are the files and directories of state in the configuration.
	StateFiles []StateFile
	// RemoteStores are the stores in PostgreSQL or Redis.
	RemoteStores []RemoteStore
	// ProviderCount and ResourceCount count the entries of the custom resource, not of the base.
	ProviderCount, ResourceCount int32
	// ModelCount, ShieldCount, VectorStoreCount and ToolCount are the parts of ResourceCount.
	ModelCount, ShieldCount, VectorStoreCount, ToolCount int32
	// Version is the schema version of the YAML.
	Version int32
	TLS     TLS
	Auth    Auth
}

// Auth describes the authentication and authorization in a configuration.
type Auth = auth.Auth

// ClusterCADir is the directory of the Kubernetes API server's CA certificates in the container, for Auth.ClusterCA.
const ClusterCADir = auth.ClusterCADir

// AuthOf returns the Auth of a base, for an image that runs it unchanged.
func AuthOf(base *Base) Auth { return auth.Read(base.Root()) }

// TLS describes the encryption in a configuration.
type TLS = server.TLS

// The paths of the certificate of spec.networking.tls in the container.
const (
	TLSDir      = server.TLSDir
	TLSCertFile = server.TLSCertFile
	TLSKeyFile  = server.TLSKeyFile
)

// TLSEnabled reports whether a spec enables TLS.
func TLSEnabled(spec *v1alpha2.LlamaStackDistributionSpec) bool { return server.TLSEnabled(spec) }

// TLSOf returns the TLS of a base, for an image that runs it unchanged.
func TLSOf(base *Base) TLS { return server.ReadTLS(base.Root()) }

// EnvVar is an environment variable of the server: one key of a Secret, or a plain value.
type EnvVar = environment.Variable

// SecretUse is a key of a Secret in the spec, with its environment variable.
type SecretUse = environment.SecretUse

// Part is the part of a Secret's value that an environment variable contains.
type Part = environment.Part

// ProviderEntry is a generated provider of the custom resource.
type ProviderEntry = provider.Entry

// Registered is a resource of the spec in a list of the server.
type Registered = resource.Registered

// The server's lists of resources.
const (
	ListModels       = resource.ListModels
	ListVectorStores = resource.ListVectorStores
	ListToolGroups   = resource.ListToolGroups
	ListConnectors   = resource.ListConnectors
)

// PackageResult is the result of reading an external provider's package.
type PackageResult = external.PackageResult

// ExternalProvider is an external provider to install in the pod.
type ExternalProvider = external.Installed

// ExternalInput are the external providers beside the user's own configuration.
type ExternalInput = external.Input

// Beside returns the external providers to install beside the user's own configuration, and their problems.
func Beside(in *ExternalInput) ([]ExternalProvider, problem.List) {
	problems := &problem.Collector{}
	return external.Beside(in, problems), problems.List()
}

// ReadPackage parses the file that describes an external provider's package.
func ReadPackage(data []byte) (*parse.ProviderPackage, error) { return external.ReadPackage(data) }

// Generate generates the configuration. The result is nil exactly if the problems include errors; if the context ends,
// the only problem is LookupFailed.
func Generate(ctx context.Context, in Input) (*Result, problem.List) {
	problems := &problem.Collector{}
	spec := readSpec(&in, problems)
	doc, env := in.Base.Edit(), environment.NewSet(in.Spec.Source, in.SecretVariables...)
	version := release.SchemaVersion(doc, problems)
	parseErrors := problems.List().Errors()
	if in.Spec.TooLarge || version == 0 || len(parseErrors) > limits.Problems || ctx.Err() != nil {
		return nil, failure(ctx, problems)
	}
	if len(parseErrors) > 0 {
		problems.Skip = newParseFailures(parseErrors).mayCause
	}
	telemetry := spec.exporters()

	server.SetName(doc, in.Line)
	server.Apply(doc, in.Line, in.Spec.Source, problems)
	auth.CheckBase(doc, in.Line, in.Release, problems)
	auth.Apply(doc, in.Line, in.Spec.Auth, env, problems)
	backends := storage.Apply(doc, in.Line, in.Spec.Source.Storage, env, problems)
	auth.CheckTenants(doc, in.Line, in.Spec.Auth, problems)
	if in.Spec.Auth != nil && auth.Read(doc.Root()).SeparatesUsers {
		storage.KeepVectorStores(doc, in.Line)
	}
	server.ApplyTelemetry(&server.Telemetry{Document: doc, Line: in.Line, Environment: env, Name: in.Name,
		Namespace: in.Namespace, ClusterName: in.ClusterName, Exporters: telemetry}, problems)
	providers := provider.Apply(ctx, doc, in.Line, spec.Providers, env, problems)
	externals := &external.Input{Document: doc, Line: in.Line, Environment: env, Providers: spec.External,
		Packages: in.Packages}
	added, installed := external.Apply(ctx, externals, problems)
	all := external.Groups(spec.Providers, spec.External, in.Packages)
	uses, registered := resource.Apply(ctx, &resource.Input{
		Document: doc, Line: in.Line, Environment: env, Providers: all, Models: spec.Models, Shields: spec.Shields,
		VectorStores: spec.VectorStores, Tools: spec.Tools, Defaults: spec.Defaults,
	}, problems)
	disabled.Apply(&disabled.Input{Document: doc, Line: in.Line, APIs: spec.disabled, Providers: all, Uses: uses},
		problems)
	input := &integrity.Input{
		Document: doc, Line: in.Line, Release: in.Release, Spec: in.Spec.Source, Providers: all, Backends: backends,
		Environment: env, ContainerVariables: in.Variables,
	}
	checkIntegrity(ctx, input, problems)
	if in.inspect != nil {
		in.inspect(doc)
		return nil, problems.List()
	}

	if problems.HasErrors() || ctx.Err() != nil {
		return nil, failure(ctx, problems)
	}
	written := write(ctx, &in, doc, problems)
	if written == nil {
		return nil, failure(ctx, problems)
	}
	env.Sort()
	providers = append(providers, added...)
	return &Result{
		YAML:             written,
		Env:              env.Needed(),
		Providers:        providers,
		External:         installed,
		Expected:         doc.EnabledProviders(env.Given()),
		Registered:       registered,
		RegisteredModels: resource.ServedNames(doc, in.Line),

		LocalModels:  localModels(doc),
		LocalState:   localState(doc, env.Given()),
		StateFiles:   stateFiles(doc, in.Line, env.Given()),
		RemoteStores: remoteStores(doc, env.Given(), backends),
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

func checkIntegrity(ctx context.Context, in *integrity.Input, problems *problem.Collector) {
	integrity.Check(ctx, in, problems)
	integrity.CheckShape(ctx, in, problems)
	integrity.CheckEnvironment(ctx, in, problems)
}

// parsedSpec is the spec without disabled parts.
type parsedSpec struct {
	disabled.Spec
	disabled []string
}

func (s *parsedSpec) exporters() []parse.Provider {
	for _, group := range s.Providers {
		if group.API == parse.APITelemetry {
			return group.Providers
		}
	}
	return nil
}

// readSpec removes the disabled parts of the spec; it returns nil for a spec that exceeds a limit.
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
		Defaults: parsed.Defaults,
	}}
	s.disabled = disabled.Read(&s.Spec, in.Line, problems)
	s.Providers = external.Replace(s.Providers, s.External, problems)
	secretUses(parsed, s.Providers, s.External, problems)
	return s
}

// CheckSpec returns those problems of Generate that are independent of base and release line.
func CheckSpec(spec *parse.Spec) problem.List {
	problems := &problem.Collector{}
	readSpec(&Input{Spec: spec}, problems)
	return problems.List()
}

// write returns the configuration as YAML, or reports a problem and returns nil.
func write(ctx context.Context, in *Input, doc *document.Document, problems *problem.Collector) []byte {
	written, err := doc.Write(ctx, in.header())
	switch {
	case err == nil:
		return written
	case errors.Is(err, document.ErrTooLarge):
		problems.Add(problem.Problem{
			Reason: problem.TooLarge, Path: "spec", Type: field.ErrorTypeTooLong,
			Detail: fmt.Sprintf("the generated config.yaml is larger than %d bytes", limits.ConfigBytes),
			Fix:    "configure less, or use several LlamaStackDistributions",
		})
	case ctx.Err() == nil:
		problems.Add(problem.Problem{
			Reason: problem.InvalidBaseConfig, Path: "base configuration " + in.Base.Name(), Type: field.ErrorTypeInvalid,
			Detail: "cannot be written as YAML: " + err.Error(), Fix: document.BaseFix,
		})
	}
	return nil
}

func failure(ctx context.Context, problems *problem.Collector) problem.List {
	if p := Incomplete(ctx); p != nil {
		return problem.List{*p}
	}
	return problems.List()
}

// Incomplete returns a problem if the context has ended, otherwise nil.
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

// header returns the comment above the configuration. It depends only on the inputs of the content.
func (in *Input) header() string {
	return fmt.Sprintf("# Generated for the %s %s/%s: edit that resource, not this file.\n# Server release line: %s\n# "+
		"Base configuration: %s\n",
		v1alpha2.Kind, in.Namespace, in.Name, in.Line.Name, in.Base.Name())
}

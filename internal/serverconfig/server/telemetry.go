// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
)

// No release line has a telemetry provider: the image's entrypoint and the server read the variables of the
// OpenTelemetry SDK. Some release lines have a switch for telemetry in the configuration.

// The variables of the OpenTelemetry SDK.
const (
	otelEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otelHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	otelProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otelService  = "OTEL_SERVICE_NAME"
)

const (
	// otlpHTTP is the protocol of the server's metrics exporter, which ignores the variables; traces share the endpoint.
	otlpHTTP = "http/protobuf"
	// grpcPort is the usual port of collectors for gRPC.
	grpcPort = "4317"

	telemetryAddress = "http://otel-collector.observability.svc:4318"
	telemetryExample = "for example endpoint: " + telemetryAddress
	otherVariables   = "set other variables of the OpenTelemetry SDK under spec.workload.overrides.env"
)

// signalPath matches the path of a signal, which the server adds to the endpoint.
var signalPath = regexp.MustCompile(`/v1/(traces|metrics|logs)/*$`)

// telemetryProviders are the names of the only provider, without prefix.
var telemetryProviders = []string{"opentelemetry", "otel", "otlp"}

// Telemetry is the input of ApplyTelemetry.
type Telemetry struct {
	Document    *document.Document
	Line        *catalog.Line
	Environment *environment.Set
	// Name is the name of the custom resource, and the service name in traces.
	Name string
	// Exporters are the providers of spec.providers.telemetry.
	Exporters []parse.Provider
}

type telemetry struct {
	*Telemetry
	problems *problem.Collector
}

// ApplyTelemetry converts the telemetry exporter to environment variables.
func ApplyTelemetry(in *Telemetry, problems *problem.Collector) {
	t := &telemetry{Telemetry: in, problems: problems}
	switch len(in.Exporters) {
	case 0:
		return
	case 1:
	default:
		problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: in.Exporters[1].Path, Type: field.ErrorTypeForbidden,
			Detail: "is a second exporter, but the server supports one", Fix: "keep one, and forward from a collector to others",
		})
		return
	}
	p := &in.Exporters[0]
	t.checkFields(p)
	endpoint, ok := t.endpoint(p)
	if !ok {
		return
	}
	path := p.EndpointPath()
	in.Environment.Add(
		environment.Variable{Name: otelEndpoint, Value: escapeDollar(endpoint), Path: path},
		environment.Variable{Name: otelProtocol, Value: otlpHTTP, Path: path},
		environment.Variable{Name: otelService, Value: in.Name, Path: path})
	if p.APIKey != nil {
		use := provider.APIKeyUse(p)
		key := environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Type: catalog.TypeAny, Bearer: true}
		// Kubernetes expands the key when it starts the container. The SDK decodes %20.
		in.Environment.Add(key, environment.Variable{Name: otelHeaders, Value: "authorization=Bearer%20$(" + key.Name + ")",
			Path: key.Path})
	}
	if _, hasSwitch := in.Line.Objects[in.Line.Sections["telemetry"].Object]["enabled"]; hasSwitch {
		document.Set(document.Ensure(in.Document.Root(), "telemetry", yaml.MappingNode), "enabled", document.Bool(true))
	}
}

// checkFields reports fields that an exporter does not support.
func (t *telemetry) checkFields(p *parse.Provider) {
	name := strings.TrimPrefix(p.Type, "remote::")
	if !slices.Contains(telemetryProviders, name) {
		t.problems.Add(problem.Problem{
			Reason: problem.UnknownProviderType, Path: p.Path + ".provider", Type: field.ErrorTypeNotSupported, Value: name,
			Detail: "no release line exports telemetry to a provider of this type",
			Fix: problem.DidYouMean(name, telemetryProviders) + "the types are " + strings.Join(telemetryProviders, ", ") +
				"; all of them mean an OpenTelemetry collector",
		})
	}
	refuse := func(given bool, name string) {
		if given {
			t.problems.Add(problem.Problem{
				Reason: problem.UnknownField, Path: p.Path + "." + name, Type: field.ErrorTypeForbidden,
				Detail: "is not supported for telemetry, only endpoint and apiKey are",
				Fix:    "remove it; " + otherVariables,
			})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		refuse(true, p.SettingsField+"."+key)
	}
	refuse(p.Region != "", "region")
	refuse(p.DeploymentName != "", "deploymentName")
	refuse(p.TLS != nil, "tls")
	for _, s := range p.SecretRefs {
		refuse(true, strings.TrimPrefix(s.Path, p.Path+"."))
	}
}

// endpoint validates the base address of the collector, to which the SDK and the server add /v1/traces and /v1/metrics.
func (t *telemetry) endpoint(p *parse.Provider) (string, bool) {
	path := p.EndpointPath()
	fail := func(detail, fix string) (string, bool) {
		t.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid,
			Detail: detail,
			Fix:    fix,
		})
		return "", false
	}
	switch {
	case p.Endpoint == "":
		t.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
			Fix: "telemetry needs the address of a collector, " + telemetryExample,
		})
		return "", false
	case strings.Contains(p.Endpoint, "${env."):
		return fail("must not refer to an environment variable, because it becomes one",
			"write the address, "+telemetryExample)
	}
	if _, ok := provider.ResolveURL(p.Endpoint, path, telemetryAddress, provider.CredentialBySecret, t.problems); !ok {
		return "", false
	}
	u, err := url.Parse(p.Endpoint)
	switch {
	case err != nil: // ResolveURL has parsed it
		return fail("is not a URL", telemetryExample)
	case u.RawQuery != "" || u.Fragment != "":
		return fail("must not have a query, because paths are appended", telemetryExample)
	case signalPath.MatchString(u.Path):
		signal := signalPath.FindString(u.Path)
		return fail("ends with the path of one signal, and the server would append /v1/traces and /v1/metrics to it",
			"remove "+signal+": the server appends such paths itself")
	case u.Port() == grpcPort:
		t.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Severity: problem.Warning, Path: path,
			Detail: "uses port " + grpcPort + ", the usual gRPC port of collectors, but the server sends HTTP",
			Fix:    "use the collector's port for HTTP, usually 4318",
		})
	}
	return strings.TrimRight(p.Endpoint, "/"), true
}

// escapeDollar escapes $ in a value, so that Kubernetes does not expand it.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }

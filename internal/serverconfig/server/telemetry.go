// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
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
	otelResource = "OTEL_RESOURCE_ATTRIBUTES"

	// podName is the variable with the name of the pod, for otelResource.
	podName = "K8S_POD_NAME"
)

const (
	// otlpHTTP is the protocol of the server's metrics exporter, which ignores the variables; traces share the endpoint.
	otlpHTTP = "http/protobuf"
	// grpcPort is the usual port of collectors for gRPC.
	grpcPort = "4317"

	telemetryAddress = "http://otel-collector.observability.svc:4318"
	telemetryExample = "for example endpoint: " + telemetryAddress
	settingsExample  = "settings of telemetry are variables of the OpenTelemetry SDK, such as OTEL_TRACES_SAMPLER"
)

// otelVariable matches the variables of the OpenTelemetry SDK.
var otelVariable = regexp.MustCompile(`^OTEL_[A-Z0-9_]+$`)

// credentialHeader matches headers that probably hold a credential.
var credentialHeader = regexp.MustCompile(`(?i)authorization|token|key|secret`)

// signalPath matches the path of a signal, which the server adds to the endpoint.
var signalPath = regexp.MustCompile(`/v1/(traces|metrics|logs)/*$`)

// telemetryProviders are the names of the only provider, without prefix.
var telemetryProviders = []string{"opentelemetry", "otel", "otlp"}

// Telemetry is the input of ApplyTelemetry.
type Telemetry struct {
	Document    *document.Document
	Line        *catalog.Line
	Environment *environment.Set
	// Name is the name of the custom resource, and the service name in traces. Namespace is its namespace.
	Name, Namespace string
	// ClusterName is the name of the cluster; may be empty.
	ClusterName string
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
	settings := t.settings(p)
	endpoint, ok := t.endpoint(p)
	if !ok {
		return
	}
	path := p.EndpointPath()
	values := map[string]environment.Variable{
		otelEndpoint: {Value: escapeDollar(endpoint), Path: path},
		otelProtocol: {Value: otlpHTTP, Path: path},
		otelService:  {Value: in.Name, Path: path},
	}
	if resource := settings[otelResource]; resource.Value != "" || !t.isOverridden(otelResource) {
		attributes := []string{"k8s.namespace.name=" + in.Namespace, "k8s.pod.name=$(" + podName + ")"}
		if in.ClusterName != "" {
			attributes = append(attributes, "k8s.cluster.name="+in.ClusterName)
		}
		if resource.Value != "" {
			attributes = append(attributes, resource.Value)
		}
		resource.Value = strings.Join(attributes, ",")
		resource.Path = cmp.Or(resource.Path, path)
		settings[otelResource], values[podName] = resource, environment.Variable{FieldPath: "metadata.name", Path: path}
	}
	maps.Copy(values, settings)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		v := values[name]
		v.Name = name
		in.Environment.Add(v)
	}
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

// isOverridden reports whether the spec sets a variable under spec.workload.overrides.env.
func (t *telemetry) isOverridden(name string) bool {
	return slices.ContainsFunc(t.Environment.Overrides(), func(v corev1.EnvVar) bool { return v.Name == name })
}

// settings returns the variables in the settings.
func (t *telemetry) settings(p *parse.Provider) map[string]environment.Variable {
	values := map[string]environment.Variable{}
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		path := p.Path + "." + p.SettingsField + "." + name
		report := func(reason problem.Reason, kind field.ErrorType, detail, fix string) {
			t.problems.Add(problem.Problem{Reason: reason, Path: path, Type: kind, Detail: detail, Fix: fix})
		}
		if !otelVariable.MatchString(name) {
			report(problem.UnknownField, field.ErrorTypeForbidden, "is not a variable of the OpenTelemetry SDK",
				"remove it; "+settingsExample)
			continue
		}
		var value string
		switch v := p.Settings[name].(type) {
		case string:
			value = v
		case bool, int64, float64:
			value = fmt.Sprint(v)
		default:
			report(problem.InvalidField, field.ErrorTypeTypeInvalid, "must be a string, a number or a boolean",
				"write it as the SDK reads it")
			continue
		}
		switch {
		case strings.Contains(value, "${env."):
			report(problem.InvalidField, field.ErrorTypeInvalid, "must not refer to an environment variable, because it "+
				"becomes one", "write the value")
			continue
		case name == otelEndpoint:
			report(problem.ConflictingFields, field.ErrorTypeForbidden, "sets the address of the collector, as does "+
				p.EndpointPath(), "keep one of them")
			continue
		case name == otelHeaders && p.APIKey != nil:
			report(problem.ConflictingFields, field.ErrorTypeForbidden, "sets the headers for the collector, as does "+
				p.Path+".apiKey", "keep one of them")
			continue
		case strings.HasSuffix(name, "_HEADERS") && credentialHeader.MatchString(value):
			t.problems.Add(problem.Problem{
				Reason: problem.LiteralSecret, Severity: problem.Warning, Path: path,
				Detail: "probably holds a credential, and anyone who can read the custom resource can read it",
				Fix:    "use apiKey, or set the variable from a Secret in spec.workload.overrides.env",
			})
		}
		values[name] = environment.Variable{Value: escapeDollar(value), Path: path}
	}
	return values
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
				Detail: "is not supported for telemetry, only endpoint, apiKey and settings are",
				Fix:    "remove it; " + settingsExample,
			})
		}
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

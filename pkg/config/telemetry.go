// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// No release line has a telemetry provider that a configuration could name: the image's entrypoint and the server read the
// variables of the OpenTelemetry SDK. So spec.providers.telemetry becomes environment. Only where a line has a switch of its own for
// telemetry is that written into the configuration.

// The variables of the OpenTelemetry SDK.
const (
	otelEndpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otelHeaders  = "OTEL_EXPORTER_OTLP_HEADERS"
	otelProtocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otelService  = "OTEL_SERVICE_NAME"
)

const (
	// otlpHTTP is the protocol that the server's own exporter of metrics speaks, whatever the variables say; traces must go the
	// same way, for there is one endpoint.
	otlpHTTP = "http/protobuf"
	// grpcPort is where collectors listen for the other protocol.
	grpcPort = "4317"

	telemetryAddress = "http://otel-collector.observability.svc:4318"
	telemetryExample = "for example endpoint: " + telemetryAddress
	otherVariables   = "set other variables of the OpenTelemetry SDK under spec.workload.overrides.env"
)

// signalPath is what the server adds to the endpoint, and what people add who know the variables of one signal.
var signalPath = regexp.MustCompile(`/v1/(traces|metrics|logs)/*$`)

// telemetryProviders are the names of the one provider that there is, without prefix.
var telemetryProviders = []string{"opentelemetry", "otel", "otlp"}

// applyTelemetry turns the exporter of telemetry into environment variables.
func (g *generation) applyTelemetry() {
	at := slices.IndexFunc(g.groups, func(group v1alpha2.ProviderGroup) bool { return group.API == v1alpha2.APITelemetry })
	if at < 0 {
		return
	}
	exporters := g.groups[at].Providers
	g.exporters = len(exporters)
	if len(exporters) > 1 {
		g.findings.fail(Conflict, exporters[1].Path, "is a second exporter: the server has one", "keep one, and let a collector pass on to others")
		return
	}
	p := &exporters[0]
	g.checkTelemetryFields(p)
	endpoint, ok := g.telemetryEndpoint(p)
	if !ok {
		return
	}
	path := p.Path + ".endpoint"
	g.env.Add(
		EnvVar{Name: otelEndpoint, Value: escapeDollar(endpoint), Path: path},
		EnvVar{Name: otelProtocol, Value: otlpHTTP, Path: path},
		EnvVar{Name: otelService, Value: g.Name, Path: path})
	if p.APIKey != nil {
		use := apiKeyUse(p)
		g.env.Add(
			EnvVar{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Type: catalog.TypeAny, Bearer: true},
			// The key stays in its Secret: Kubernetes puts it in when it starts the container. The SDK decodes %20.
			EnvVar{Name: otelHeaders, Value: "authorization=Bearer%20$(" + use.EnvName + ")", Path: use.Path})
	}
	if _, hasSwitch := g.Line.Objects[g.Line.Sections["telemetry"].Object]["enabled"]; hasSwitch {
		document.Set(document.Ensure(g.doc.Root(), "telemetry", yaml.MappingNode), "enabled", document.Bool(true))
	}
}

// checkTelemetryFields refuses what has no meaning for an exporter.
func (g *generation) checkTelemetryFields(p *v1alpha2.ProviderConfig) {
	name := strings.TrimPrefix(p.Provider, "remote::")
	if !slices.Contains(telemetryProviders, name) {
		g.findings.fail(UnknownProviderType, p.Path+".provider", "is not a way to export telemetry that any release line knows",
			suggest.Sentence(name, telemetryProviders)+"known are "+strings.Join(telemetryProviders, ", ")+", all of which mean an OpenTelemetry collector")
	}
	refuse := func(given bool, field string) {
		if given {
			g.findings.fail(UnknownField, p.Path+"."+field, "has no meaning for telemetry: the server has only endpoint and apiKey of a collector",
				"remove it; "+otherVariables)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Settings)) {
		refuse(true, p.SettingsField+"."+key)
	}
	refuse(p.Region != "", "region")
	refuse(p.DeploymentName != "", "deploymentName")
	for _, s := range p.SecretRefs {
		refuse(true, strings.TrimPrefix(s.Path, p.Path+"."))
	}
}

// telemetryEndpoint checks the address of the collector. It is the base of several: the SDK and the server add /v1/traces and
// /v1/metrics.
func (g *generation) telemetryEndpoint(p *v1alpha2.ProviderConfig) (string, bool) {
	path := p.Path + ".endpoint"
	fail := func(message, mending string) (string, bool) {
		g.findings.fail(InvalidEndpoint, path, message, mending)
		return "", false
	}
	switch {
	case p.Endpoint == "":
		g.findings.fail(InvalidSpec, path, "Required value", "telemetry needs the address of a collector, "+telemetryExample)
		return "", false
	case strings.Contains(p.Endpoint, "${env."):
		return fail("must not refer to the environment: it becomes an environment variable itself", "write the address, "+telemetryExample)
	}
	values := resolveEndpoint(p.Endpoint, path, &catalog.Endpoint{Kind: catalog.EndpointURL, Example: telemetryAddress}, &g.findings)
	if values == nil {
		return "", false
	}
	u, err := url.Parse(p.Endpoint)
	switch {
	case err != nil: // resolveEndpoint has parsed it
		return fail("is not a URL", telemetryExample)
	case u.RawQuery != "" || u.Fragment != "":
		return fail("must not have a query: paths are added to it", telemetryExample)
	case signalPath.MatchString(u.Path):
		signal := signalPath.FindString(u.Path)
		return fail("ends with the path of one signal: traces would go to /v1/traces and metrics to /v1/metrics below that, where no collector listens",
			"remove "+signal+": the server adds such paths itself")
	case u.Port() == grpcPort:
		g.findings.warn(InvalidEndpoint, path, "names port "+grpcPort+", where collectors usually listen for gRPC; the server sends HTTP",
			"use the collector's port for HTTP, usually 4318")
	}
	return strings.TrimRight(p.Endpoint, "/"), true
}

// escapeDollar keeps Kubernetes from taking a part of a value for a reference to another variable.
func escapeDollar(s string) string { return strings.ReplaceAll(s, "$", "$$") }

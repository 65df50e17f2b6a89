// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/server"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: FR-006, R12, R31.
func TestApplySetsPortWorkersAndTLS(t *testing.T) {
	const ownTLS = "tls_certfile: /etc/llama-stack-tls/tls.crt, tls_keyfile: /etc/llama-stack-tls/tls.key"
	for name, c := range map[string]struct {
		needsInsecure, hostForWorkers bool
		base, spec, want              string
	}{
		"the default port":                {spec: "{}", want: "server: {port: 8321}"},
		"networking without a port":       {spec: "networking: {}", want: "server: {port: 8321}"},
		"the port of the spec":            {base: "server: {port: 1, host: h}", spec: "networking: {port: 9000}", want: "server: {port: 9000, host: h}"},
		"the lowest port":                 {spec: "networking: {port: 1024}", want: "server: {port: 1024}"},
		"the highest port":                {spec: "networking: {port: 65535}", want: "server: {port: 65535}"},
		"a workload without workers":      {base: "server: {workers: 3}", spec: "workload: {}", want: "server: {workers: 3, port: 8321}"},
		"one worker needs no address":     {hostForWorkers: true, spec: "workload: {workers: 1}", want: "server: {port: 8321, workers: 1}"},
		"several workers need an address": {hostForWorkers: true, spec: "workload: {workers: 2}", want: "server: {port: 8321, workers: 2, host: '::'}"},
		"several workers keep the address of the base": {
			hostForWorkers: true, base: "server: {host: h}", spec: "workload: {workers: 2}", want: "server: {host: h, port: 8321, workers: 2}",
		},
		"release lines that find an address themselves": {spec: "workload: {workers: 2}", want: "server: {port: 8321, workers: 2}"},
		"TLS": {spec: "networking: {tls: {enabled: true}}", want: "server: {port: 8321, " + ownTLS + "}"},
		"TLS makes the server secure": {
			needsInsecure: true, base: "server: {insecure: true}", spec: "networking: {tls: {enabled: true}}", want: "server: {port: 8321, " + ownTLS + "}",
		},
		"TLS off":                                 {spec: "networking: {tls: {enabled: false}}", want: "server: {port: 8321}"},
		"TLS without a word":                      {spec: "networking: {tls: {}}", want: "server: {port: 8321}"},
		"without TLS, where the server asks":      {needsInsecure: true, spec: "{}", want: "server: {port: 8321, insecure: true}"},
		"without a key, where the server asks":    {needsInsecure: true, base: "server: {tls_certfile: c}", spec: "{}", want: "server: {tls_certfile: c, port: 8321, insecure: true}"},
		"without a certificate, where it asks":    {needsInsecure: true, base: "server: {tls_keyfile: k}", spec: "{}", want: "server: {tls_keyfile: k, port: 8321, insecure: true}"},
		"with the base's files, where it asks":    {needsInsecure: true, base: "server: {tls_certfile: c, tls_keyfile: k}", spec: "{}", want: "server: {tls_certfile: c, tls_keyfile: k, port: 8321}"},
		"with the base's files, and TLS all over": {base: "server: {tls_certfile: c, tls_keyfile: k}", spec: "networking: {tls: {enabled: true}}", want: "server: {port: 8321, " + ownTLS + "}"},
	} {
		t.Run(name, func(t *testing.T) {
			line := step.Newest(t)
			line.NeedsInsecure, line.HostForWorkers = c.needsInsecure, c.hostForWorkers
			doc, found := step.Document(t, c.base+"\n"), &problem.Collector{}
			server.Apply(doc, line, step.Spec(t, c.spec), found)
			if diff := cmp.Diff(step.Compact(t, c.want), step.Compact(t, step.Text(t, doc))); diff != "" || len(found.List()) > 0 {
				t.Errorf("(-want +got):\n%s\n%s", diff, step.Texts(found))
			}
		})
	}
}

// Proves: FR-006.
func TestApplyRefusesPortsThatTheServerRefuses(t *testing.T) {
	for _, port := range []int{-1, 0, 80, 1023, 65536} {
		doc, found := step.Document(t, "server: {port: 1}\n"), &problem.Collector{}
		server.Apply(doc, step.Newest(t), step.Spec(t, fmt.Sprintf("networking: {port: %d}", port)), found)
		step.Problems(t, strconv.Itoa(port), found, "InvalidField spec.networking.port\n")
		if found.List()[0].Value != int32(port) {
			t.Errorf("port %d: the value is %v", port, found.List()[0].Value)
		}
	}
}

func telemetry(t *testing.T, line, base, telemetry string) (variables, configuration string, found *problem.Collector) {
	t.Helper()
	parsed := step.Parsed(t, "providers: {telemetry: "+telemetry+"}")
	doc, env, found := step.Document(t, base), environment.NewSet(parsed.Source), &problem.Collector{}
	in := &server.Telemetry{Document: doc, Line: step.Line(t, line), Environment: env, Name: "my-stack", Namespace: "mine"}
	for _, group := range parsed.Providers {
		in.Exporters = group.Providers
	}
	server.ApplyTelemetry(in, found)
	var b strings.Builder
	for _, v := range env.Needed() {
		fmt.Fprintf(&b, "%s=%s%s/%s %s %v\n", v.Name, v.Value, v.Ref.Name, v.Ref.Key, v.Path, v.Bearer)
	}
	return b.String(), step.Compact(t, step.Text(t, doc)), found
}

const (
	path      = "spec.providers.telemetry"
	variables = "K8S_POD_NAME=/ " + path + ".endpoint false\nOTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318/ " + path + ".endpoint false\nOTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf/ " + path +
		".endpoint false\nOTEL_RESOURCE_ATTRIBUTES=k8s.namespace.name=mine,k8s.pod.name=$(K8S_POD_NAME)/ " + path +
		".endpoint false\nOTEL_SERVICE_NAME=my-stack/ " + path + ".endpoint false\n"
)

// Proves: FR-034, R38.
func TestApplyTelemetrySetsVariables(t *testing.T) {
	for name, c := range map[string]struct{ line, base, telemetry, variables, configuration, problems string }{
		"none":        {line: "1.0", telemetry: "null", configuration: "null"},
		"a collector": {line: "1.0", telemetry: "{provider: opentelemetry, endpoint: 'http://c:4318/'}", variables: variables, configuration: "null"},
		"another name, with its prefix": {
			line: "1.0", telemetry: "{provider: 'remote::otlp', endpoint: 'http://c:4318'}", variables: variables, configuration: "null",
		},
		"a dollar means nothing to Kubernetes": {
			line: "1.0", telemetry: "{provider: otel, endpoint: 'http://c:4318/$(X)'}", configuration: "null",
			variables: strings.Replace(variables, "4318/", "4318/$$(X)/", 1),
		},
		"a key stays in its Secret": {
			line: "1.0", telemetry: "{provider: otel, endpoint: 'http://c:4318', apiKey: {name: s, key: k}}", configuration: "null",
			variables: variables + "LLSD_OTEL_API_KEY=s/k " + path + ".apiKey true\n" +
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20$(LLSD_OTEL_API_KEY)/ " + path + ".apiKey false\n",
		},
		"the switch of a release line that has one": {
			line: "0.3", base: "telemetry: {enabled: false}\n", telemetry: "{provider: otel, endpoint: 'http://c:4318'}", variables: variables,
			configuration: `{"telemetry":{"enabled":true}}`,
		},
		"the port of gRPC": {
			line: "1.0", telemetry: "{provider: otel, endpoint: 'http://c:4317'}", variables: strings.Replace(variables, "4318", "4317", 1), configuration: "null",
			problems: "Warning InvalidField spec.providers.telemetry.endpoint\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			variables, configuration, problems := telemetry(t, c.line, c.base, c.telemetry)
			if diff := cmp.Diff(c.variables, variables); diff != "" || configuration != c.configuration {
				t.Errorf("(-want +got):\n%s\n%s", diff, configuration)
			}
			step.Problems(t, "", problems, c.problems)
		})
	}
}

// Proves: FR-034, FR-075, R38.
func TestApplyTelemetryReportsInvalidExporters(t *testing.T) {
	for telemetryText, want := range map[string]string{
		"[{id: a, provider: otel, endpoint: 'http://c'}, {id: b, provider: otel, endpoint: 'http://d'}]": "ConflictingFields spec.providers.telemetry[1]\n",
		"{provider: otel}":                                  "MissingField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: '${env.C}'}":            "InvalidField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: 'c:4318'}":              "InvalidField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: 'http://%zz'}":          "InvalidField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: 'http://c?a'}":          "InvalidField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: 'http://c#a'}":          "InvalidField spec.providers.telemetry.endpoint\n",
		"{provider: otel, endpoint: 'http://c/v1/traces/'}": "InvalidField spec.providers.telemetry.endpoint\n",
	} {
		variables, _, problems := telemetry(t, "1.0", "", telemetryText)
		step.Problems(t, telemetryText, problems, want)
		if variables != "" {
			t.Errorf("%s: %s", telemetryText, variables)
		}
	}
	// Problems of other fields, with a valid address.
	for telemetryText, want := range map[string]string{
		"provider: oltp":                                                                                    "UnknownProviderType spec.providers.telemetry.provider\n",
		"provider: otel, settings: {b: 1, a: 2}":                                                            "UnknownField spec.providers.telemetry.settings.a\nUnknownField spec.providers.telemetry.settings.b\n",
		"provider: otel, settings: {OTEL_A: [1]}":                                                           "InvalidField spec.providers.telemetry.settings.OTEL_A\n",
		"provider: otel, settings: {OTEL_A: '${env.B}'}":                                                    "InvalidField spec.providers.telemetry.settings.OTEL_A\n",
		"provider: otel, settings: {OTEL_EXPORTER_OTLP_ENDPOINT: 'http://d'}":                               "ConflictingFields spec.providers.telemetry.settings.OTEL_EXPORTER_OTLP_ENDPOINT\n",
		"provider: otel, apiKey: {name: s, key: k}, settings: {OTEL_EXPORTER_OTLP_HEADERS: a=b}":            "ConflictingFields spec.providers.telemetry.settings.OTEL_EXPORTER_OTLP_HEADERS\n",
		"provider: otel, settings: {OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'Authorization=Bearer%20sk-canary'}": "Warning LiteralSecret spec.providers.telemetry.settings.OTEL_EXPORTER_OTLP_TRACES_HEADERS\n",
		"provider: otel, region: r":                                                                         "UnknownField spec.providers.telemetry.region\n",
		"provider: otel, deploymentName: d":                                                                 "UnknownField spec.providers.telemetry.deploymentName\n",
		"provider: otel, secretRefs: {t: {name: s, key: k}}":                                                "UnknownField spec.providers.telemetry.secretRefs[t]\n",
	} {
		_, _, problems := telemetry(t, "1.0", "", "{endpoint: 'http://c:4318', "+telemetryText+"}")
		step.Problems(t, telemetryText, problems, want)
	}
}

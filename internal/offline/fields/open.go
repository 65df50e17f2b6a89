// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

type fieldDoc struct{ name, kind, meaning string }

// secretReference is the form of a reference to a key of a Secret.
const secretReference = "{name, key} of a Secret in the namespace of the resource"

var nestedFields = map[string][]fieldDoc{
	"apiKey": secretFields, "secretRefs": secretFields,
	"secretKeyRef": keyFields,
	"endpointFrom": {
		{"kind", "string", "Kind is the kind of the object. Required."},
		{"name", "string", "Name is the name of the object. Required."},
		{"namespace", "string", "Namespace is the namespace of the object. Default: the namespace of the resource."},
		{"port", "integer or string", "Port is the number or the name of a port of the Service. Default: its only port."},
		{"path", "string", "Path is the path of the URL."},
	},
}

var (
	keyFields = []fieldDoc{
		{"name", "string", "Name is the name of the Secret. Required."},
		{"key", "string", "Key is the key within the Secret. Required."},
	}
	secretFields = append([]fieldDoc{
		{"secretKeyRef", "object", "SecretKeyRef holds name and key, as in the env of a container. Both forms are valid."},
	}, keyFields...)
)

// openFields are the fields with an open schema in the CRD, because they take several types. Package parse reads them.
var openFields = []struct {
	path   []string
	kind   string
	fields []fieldDoc
}{
	{[]string{"spec", "resources", "models"}, "string or object", []fieldDoc{
		{"name", "string", "Name is the model's name, the model_id in the server's configuration. Required."},
		{"provider", "string", "Provider is the id of the inference provider that serves the model. Default: the default " +
			"provider."},
		{"modelType", "string", "ModelType is llm, embedding or rerank. Default: llm."},
		{"contextLength", "integer", "ContextLength is the context window in tokens."},
		{"quantization", "string", "Quantization is the quantization of the weights."},
		{"embeddingDimension", "integer", "EmbeddingDimension is the length of the vectors that an embedding model returns."},
		{"providerModelId", "string", "ProviderModelID is the name of the model on the model server, if it differs from " +
			"name."},
		{"metadata", "object", "Metadata is arbitrary metadata of the registered model."},
	}},
	{[]string{"spec", "resources", "tools"}, "string or object", []fieldDoc{
		{"name", "string", "Name is the tool group, such as websearch, rag or mcp::github. Required."},
		{"provider", "string", "Provider is the id of the toolRuntime provider that serves it. Default: the default " +
			"provider."},
		{"endpoint", "string", "Endpoint is the URL of an MCP server, with the path of its transport: usually /mcp for " +
			"streamable HTTP, /sse for SSE."},
		{"endpointFrom", "object", "EndpointFrom takes the endpoint from a Service: kind, name, and optionally namespace, " +
			"port and path. Default of path: /mcp."},
	}},
	{[]string{"spec", "resources", "shields"}, "string or object", []fieldDoc{
		{"id", "string", "ID is the shield_id in the server's configuration. Required."},
		{"provider", "string", "Provider is the id of the safety provider. Default: the default provider."},
		{"model", "string", "Model is the registered model that the shield uses."},
	}},
	{[]string{"spec", "networking", "expose"}, "boolean or object", []fieldDoc{
		{"enabled", "boolean", "Enabled exposes the server. Default: true."},
		{"hostname", "string", "Hostname is the external host name. Default: a generated one if the operator's settings " +
			"have a domain."},
		{"className", "string", "ClassName is the class of an Ingress. Default: that of the operator's settings."},
		{"annotations", "map of strings", "Annotations are set on the Route, HTTPRoute or Ingress, before those of the " +
			"operator's settings."},
		{"tls", "object", "TLS has the secretName of the edge's certificate, a Secret of type kubernetes.io/tls in the " +
			"namespace of the resource."},
		{"weight", "integer", "Weight is the share of the requests for the host name, from 0 to 100, relative to those of " +
			"the other resources of the namespace with the host name and a weight. Needs a Gateway, and the same databases."},
	}},
}

var providerFields = []fieldDoc{
	{"id", "string", "ID is the provider_id in the server's configuration. Required in a list of several. Default: the " +
		"name of the type."},
	{"provider", "string", "Provider is the provider type, such as vllm or remote::vllm: see kubectl llamastack explain " +
		"TYPE. Required."},
	{"endpoint", "string", "Endpoint is the URL or the address of the provider's model server or database."},
	{
		"endpointFrom", "object", "EndpointFrom takes the endpoint from an object of the cluster: kind (Service, for " +
			"inference also InferenceService or LLMInferenceService), name and optionally namespace; of a Service also port " +
			"and path.",
	},
	{"apiKey", "object", "APIKey refers to the API key for the endpoint: " + secretReference + "."},
	{"settings", "object", "Settings are fields of the provider's config: they are merged into it unchanged. A value of " +
		"a Secret belongs under secretRefs."},
	{"region", "string", "Region is the cloud region, for provider types that have one."},
	{"deploymentName", "string", "DeploymentName is the deployment, for provider types that have one."},
	{"tls", "object", "TLS has the certificates for the endpoint: caBundle (configMapName, and key, by default " +
		"ca-bundle.crt) and clientCertificate (secretName of a Secret of type kubernetes.io/tls), for provider types that " +
		"have them."},
	{"secretRefs", "map of object", "SecretRefs are config fields whose values come from Secrets: for the name of each " +
		"field " + secretReference + "."},
}

// telemetryFields are the fields of an exporter, which differs from those of a provider.
var telemetryFields = []fieldDoc{
	{"id", "string", "ID names the exporter in messages. Default: the name of the type."},
	{"provider", "string", "Provider is opentelemetry, otel or otlp, which mean the same. Required."},
	{"endpoint", "string", "Endpoint is the base URL of an OpenTelemetry collector, such as http://collector:4318, to " +
		"which the server appends /v1/traces and /v1/metrics. Required."},
	{"endpointFrom", "object", "EndpointFrom takes the endpoint from a Service: kind, name and optionally namespace, " +
		"port and path."},
	{"apiKey", "object", "APIKey refers to the bearer token for the collector: " + secretReference + "."},
	{"settings", "object", "Settings are variables of the OpenTelemetry SDK, such as OTEL_TRACES_SAMPLER: the server " +
		"gets them as environment variables."},
}

// providerFieldsOf returns the fields of a provider of the API. It leaves out those that no provider type there has.
func providerFieldsOf(api parse.ProviderAPI) []fieldDoc {
	if api == parse.APITelemetry {
		return telemetryFields
	}
	has := map[string]bool{}
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		for i := range line.Rows[api.Name] {
			row := &line.Rows[api.Name][i]
			has["region"] = has["region"] || row.Region != ""
			has["deploymentName"] = has["deploymentName"] || row.DeploymentName != "" || row.DeploymentIsModel
		}
	}
	return slices.DeleteFunc(slices.Clone(providerFields), func(f fieldDoc) bool {
		return (f.name == "region" || f.name == "deploymentName") && !has[f.name]
	})
}

func fillOpenFields(root *props) {
	providers := root.Properties["spec"].Properties["providers"]
	for _, api := range parse.APIs() {
		if _, known := providers.Properties[api.Field]; !known {
			providers.Properties[api.Field] = props{Description: "The provider of the API " + api.Name + "."}
		}
		fill(root, []string{"spec", "providers", api.Field}, "object or list of objects", providerFieldsOf(api))
	}
	for _, open := range openFields {
		fill(root, open.path, open.kind, open.fields)
	}
}

func fill(at *props, path []string, kind string, fields []fieldDoc) {
	if len(path) > 0 {
		child, known := at.Properties[path[0]]
		if !known {
			return
		}
		fill(&child, path[1:], kind, fields)
		at.Properties[path[0]] = child
		return
	}
	open := contents(at)
	open.Type, open.Properties = kind, properties(fields)
}

// properties returns the schema of fields, including nested ones.
func properties(fields []fieldDoc) map[string]props {
	described := map[string]props{}
	for _, f := range fields {
		child := props{Type: f.kind, Description: f.meaning, Properties: properties(nestedFields[f.name])}
		if f.kind == "map of object" {
			child = props{Type: "object", Description: f.meaning, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{
				Schema: &props{Type: "object", Properties: child.Properties},
			}}
		}
		described[f.name] = child
	}
	return described
}

// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// parseItems parses a list of strings or objects.
func parseItems[T any](items []apiextensionsv1.JSON, path *field.Path,
	fromString func(string, *field.Path) T, fromObject func(*object) T, known []string,
) ([]T, problem.List) {
	var parsed []T
	var problems problem.List
	for i, item := range items {
		itemPath := path.Index(i)
		v, found := decode(item.Raw, itemPath)
		problems = append(problems, found...)
		if len(found) > 0 {
			continue
		}
		switch v := v.(type) {
		case string:
			if v == "" {
				problems = append(problems, invalid(itemPath, "must not be empty", "give a name, or remove the item"))
				continue
			}
			parsed = append(parsed, fromString(v, itemPath))
		case map[string]any:
			o := newObject(itemPath, v)
			parsed = append(parsed, fromObject(o))
			o.rejectUnknown(known)
			problems = append(problems, o.problems...)
		default:
			problems = append(problems, wrongType(itemPath, "a string or an object with "+strings.Join(known, ", "), ""))
		}
	}
	return parsed, problems
}

var modelFields = []string{
	"name", "provider", "modelType", "contextLength", "quantization", "embeddingDimension", "providerModelId", "metadata",
}

var modelTypes = []string{string(v1alpha2.ModelTypeLLM), string(v1alpha2.ModelTypeEmbedding),
	string(v1alpha2.ModelTypeRerank)}

func parseModels(items []apiextensionsv1.JSON) ([]Model, problem.List) {
	path := field.NewPath("spec", "resources", "models")
	models, problems := parseItems(items, path,
		func(s string, p *field.Path) Model { return Model{Name: s, Path: p.String()} },
		parseModel, modelFields)
	return models, append(problems, duplicateModels(models)...)
}

func parseModel(o *object) Model {
	m := Model{
		Name:               o.getRequiredString("name", "llama3.2-8b"),
		Provider:           o.getString("provider"),
		ModelType:          v1alpha2.ModelType(o.getString("modelType")),
		ContextLength:      o.getPositiveInt("contextLength"),
		Quantization:       o.getString("quantization"),
		EmbeddingDimension: o.getPositiveInt("embeddingDimension"),
		ProviderModelID:    o.getString("providerModelId"),
		Metadata:           o.getMap("metadata"),
		Path:               o.path.String(),
	}
	if m.ModelType != "" && !slices.Contains(modelTypes, string(m.ModelType)) {
		o.report(unsupportedModelType(o.path.Child("modelType"), string(m.ModelType)))
	}
	dimension, inMetadata := m.Metadata["embedding_dimension"]
	if m.ModelType == v1alpha2.ModelTypeEmbedding && m.EmbeddingDimension == nil && dimension == nil {
		o.report(missing(o.path.Child("embeddingDimension"), "an embedding model requires it", "for "+
			"example embeddingDimension: 768"))
	}
	if m.EmbeddingDimension != nil && inMetadata {
		o.report(conflicting(o.path.Child("metadata").Key("embedding_dimension"), "duplicates embeddingDimension"))
	} else if m.ModelType == v1alpha2.ModelTypeEmbedding && dimension != nil && !isDimension(dimension) {
		o.report(wrongType(o.path.Child("metadata").Key("embedding_dimension"), "a positive integer", "for example "+
			"embeddingDimension: 768, without metadata"))
	}
	return m
}

// isDimension reports whether the server can parse a value as a positive integer. Environment references count.
func isDimension(value any) bool {
	switch v := value.(type) {
	case int64:
		return v > 0
	case float64:
		return v > 0 && v == math.Trunc(v)
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return err == nil && n > 0 || strings.Contains(v, "${env.")
	}
	return false
}

// unsupportedModelType returns the problem of an unknown model type, with the value if it is similar to a known one.
func unsupportedModelType(path *field.Path, written string) problem.Problem {
	p := problem.Problem{
		Reason: problem.InvalidField, Path: path.String(), Type: field.ErrorTypeNotSupported,
		Fix: "supported values: " + strings.Join(modelTypes, ", "),
	}
	if near, ok := problem.Nearest(written, modelTypes); ok {
		p.Value, p.Fix = written, fmt.Sprintf("did you mean %q?", near)
	}
	return newProblem(p)
}

func duplicateModels(models []Model) problem.List {
	var problems problem.List
	first := map[[2]string]string{}
	for i := range models {
		m := &models[i]
		if m.Name == "" {
			continue
		}
		id := [2]string{m.Provider, m.Name}
		if at, seen := first[id]; seen {
			problems = append(problems, newProblem(problem.Problem{
				Reason: problem.ConflictingFields, Path: m.Path, Type: field.ErrorTypeDuplicate, Value: m.Name,
				Detail: "duplicates the model and provider of " + at, Fix: "remove one of them",
			}))
			continue
		}
		first[id] = m.Path
	}
	return problems
}

// mcpPath is the usual path of MCP servers.
const mcpPath = "/mcp"

func parseTools(items []apiextensionsv1.JSON) ([]Tool, problem.List) {
	return parseItems(items, field.NewPath("spec", "resources", "tools"),
		func(s string, p *field.Path) Tool { return Tool{Name: s, Path: p.String()} },
		func(o *object) Tool {
			t := Tool{
				Name:     o.getRequiredString("name", "websearch"),
				Provider: o.getString("provider"),
				Endpoint: o.getString("endpoint"),
				Path:     o.path.String(),
			}
			if t.EndpointFrom = o.getEndpointFrom(t.Endpoint, KindService); t.EndpointFrom != nil &&
				t.EndpointFrom.URLPath == "" {
				t.EndpointFrom.URLPath = mcpPath
			}
			o.rejectMCPSettings()
			return t
		}, []string{"name", "provider", "endpoint", "endpointFrom"})
}

// rejectMCPSettings reports settings of an MCP server that no release line has in its configuration.
func (o *object) rejectMCPSettings() {
	reject := func(key, detail, fix string) {
		if _, there := o.take(key); there {
			o.report(newProblem(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: o.path.Child(key).String(), Type: field.ErrorTypeForbidden,
				Detail: "is not supported by any release line: " + detail, Fix: fix,
			}))
		}
	}
	for _, key := range []string{"apiKey", "authorization", "headers", "secretRefs"} {
		reject(key, "the server sends an MCP server only the credentials of its clients",
			"remove it; clients send headers and authorization with the tool in their requests")
	}
	reject("transport", "the server tries streamable HTTP, then SSE",
		"remove it; give the path of the transport in endpoint or endpointFrom.path, for example /mcp or /sse")
}

func parseShields(items []apiextensionsv1.JSON) ([]Shield, problem.List) {
	return parseItems(items, field.NewPath("spec", "resources", "shields"),
		func(s string, p *field.Path) Shield { return Shield{ID: s, Path: p.String()} },
		func(o *object) Shield {
			return Shield{
				ID:       o.getRequiredString("id", "llama-guard"),
				Provider: o.getString("provider"),
				Model:    o.getString("model"),
				Path:     o.path.String(),
			}
		}, []string{"id", "provider", "model"})
}

// ExposeField parses spec.networking.expose: a boolean, or an object that is enabled unless it has enabled: false.
func ExposeField(raw *apiextensionsv1.JSON) (Expose, problem.List) {
	path := field.NewPath("spec", "networking", "expose")
	if raw == nil || len(raw.Raw) == 0 {
		return Expose{}, nil
	}
	v, problems := decode(raw.Raw, path)
	if len(problems) > 0 {
		return Expose{}, problems
	}
	switch v := v.(type) {
	case nil:
		return Expose{}, nil
	case bool:
		return Expose{Enabled: v}, nil
	case map[string]any:
		o := newObject(path, v)
		expose := Expose{
			Enabled: true, Hostname: o.getString("hostname"), ClassName: o.getString("className"),
			Annotations: exposeAnnotations(o), Weight: o.getWeight("weight"),
		}
		if tls := o.getMap("tls"); tls != nil {
			t := newObject(path.Child("tls"), tls)
			expose.TLSSecretName = t.getRequiredString("secretName", "my-edge-tls")
			t.rejectUnknown([]string{"secretName"})
			o.report(t.problems...)
		}
		if enabled, ok := o.take("enabled"); ok {
			if expose.Enabled, ok = enabled.(bool); !ok {
				o.report(wrongType(path.Child("enabled"), "a boolean", ""))
			}
		}
		o.rejectUnknown([]string{"annotations", "className", "enabled", "hostname", "tls", "weight"})
		return expose, o.problems
	default:
		return Expose{}, problem.List{wrongType(path, "a boolean, or an object with enabled and hostname", "")}
	}
}

// maxWeight is the largest weight of a server.
const maxWeight = 100

// getWeight takes a weight from 0 to maxWeight.
func (o *object) getWeight(key string) *int32 {
	v, ok := o.take(key)
	if !ok {
		return nil
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > maxWeight {
		o.report(wrongType(o.path.Child(key), fmt.Sprintf("an integer from 0 to %d", maxWeight), ""))
		return nil
	}
	return new(int32(n))
}

func exposeAnnotations(o *object) map[string]string {
	values := o.getMap("annotations")
	if len(values) == 0 {
		return nil
	}
	annotations := make(map[string]string, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := values[name].(string)
		if !ok {
			o.report(wrongType(o.path.Child("annotations").Key(name), "a string", "quote it"))
			continue
		}
		annotations[name] = text
	}
	return annotations
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// parseItems reads a list whose items are strings or objects.
func parseItems[T any](items []apiextensionsv1.JSON, path *field.Path,
	fromString func(string, *field.Path) T, fromObject func(*object) T, known []string,
) ([]T, field.ErrorList) {
	var parsed []T
	var errs field.ErrorList
	for i, item := range items {
		itemPath := path.Index(i)
		v, itemErrs := decode(item.Raw, itemPath)
		errs = append(errs, itemErrs...)
		if len(itemErrs) > 0 {
			continue
		}
		switch v := v.(type) {
		case string:
			if v == "" {
				errs = append(errs, invalid(itemPath, "must not be empty: give a name, or remove the item"))
				continue
			}
			parsed = append(parsed, fromString(v, itemPath))
		case map[string]any:
			o := newObject(itemPath, v)
			parsed = append(parsed, fromObject(o))
			o.refuseRest(known)
			errs = append(errs, o.errs...)
		default:
			errs = append(errs, wrongType(itemPath, "a string or an object with "+strings.Join(known, ", ")))
		}
	}
	return parsed, errs
}

var modelFields = []string{
	"name", "provider", "modelType", "contextLength", "quantization", "embeddingDimension", "providerModelId", "metadata",
}

var modelTypes = []ModelType{ModelTypeLLM, ModelTypeEmbedding, ModelTypeRerank}

// ParseModels reads spec.resources.models.
func ParseModels(items []apiextensionsv1.JSON) ([]ModelConfig, field.ErrorList) {
	path := field.NewPath("spec", "resources", "models")
	models, errs := parseItems(items, path,
		func(s string, p *field.Path) ModelConfig { return ModelConfig{Name: s, Path: p.String()} },
		parseModel, modelFields)
	return models, append(errs, duplicateModels(models)...)
}

func parseModel(o *object) ModelConfig {
	m := ModelConfig{
		Name:               o.getRequiredString("name", "llama3.2-8b"),
		Provider:           o.getString("provider"),
		ModelType:          ModelType(o.getString("modelType")),
		ContextLength:      o.getPositiveInt("contextLength"),
		Quantization:       o.getString("quantization"),
		EmbeddingDimension: o.getPositiveInt("embeddingDimension"),
		ProviderModelID:    o.getString("providerModelId"),
		Metadata:           o.getMap("metadata"),
		Path:               o.path.String(),
	}
	if m.ModelType != "" && !slices.Contains(modelTypes, m.ModelType) {
		o.fail(invalid(o.path.Child("modelType"), fmt.Sprintf("must be one of %v", modelTypes)))
	}
	_, inMetadata := m.Metadata["embedding_dimension"]
	if m.ModelType == ModelTypeEmbedding && m.EmbeddingDimension == nil && !inMetadata {
		o.fail(field.Required(o.path.Child("embeddingDimension"),
			"the server refuses an embedding model without it: for example embeddingDimension: 768"))
	}
	if m.EmbeddingDimension != nil && inMetadata {
		o.fail(field.Forbidden(o.path.Child("metadata").Key("embedding_dimension"),
			"embeddingDimension says the same: keep one of them"))
	}
	return m
}

func duplicateModels(models []ModelConfig) field.ErrorList {
	var errs field.ErrorList
	first := map[[2]string]string{}
	for i := range models {
		m := &models[i]
		if m.Name == "" {
			continue
		}
		id := [2]string{m.Provider, m.Name}
		if at, seen := first[id]; seen {
			err := field.Duplicate(nil, m.Name)
			err.Field = m.Path
			err.Detail = fmt.Sprintf("the same model with the same provider stands at %s: remove one of them", at)
			errs = append(errs, err)
			continue
		}
		first[id] = m.Path
	}
	return errs
}

// ParseTools reads spec.resources.tools.
func ParseTools(items []apiextensionsv1.JSON) ([]ToolConfig, field.ErrorList) {
	return parseItems(items, field.NewPath("spec", "resources", "tools"),
		func(s string, p *field.Path) ToolConfig { return ToolConfig{Name: s, Path: p.String()} },
		func(o *object) ToolConfig {
			return ToolConfig{
				Name:     o.getRequiredString("name", "websearch"),
				Provider: o.getString("provider"),
				Endpoint: o.getString("endpoint"),
				Path:     o.path.String(),
			}
		}, []string{"name", "provider", "endpoint"})
}

// ParseShields reads spec.resources.shields.
func ParseShields(items []apiextensionsv1.JSON) ([]ShieldConfig, field.ErrorList) {
	return parseItems(items, field.NewPath("spec", "resources", "shields"),
		func(s string, p *field.Path) ShieldConfig { return ShieldConfig{ID: s, Path: p.String()} },
		func(o *object) ShieldConfig {
			return ShieldConfig{
				ID:       o.getRequiredString("id", "llama-guard"),
				Provider: o.getString("provider"),
				Model:    o.getString("model"),
				Path:     o.path.String(),
			}
		}, []string{"id", "provider", "model"})
}

// ParseExpose reads spec.networking.expose: absent and null are off, true, {} and {hostname} are on, and
// {enabled: false, ...} is off.
func ParseExpose(raw *apiextensionsv1.JSON) (ExposeConfig, field.ErrorList) {
	path := field.NewPath("spec", "networking", "expose")
	if raw == nil || len(raw.Raw) == 0 {
		return ExposeConfig{}, nil
	}
	v, errs := decode(raw.Raw, path)
	if len(errs) > 0 {
		return ExposeConfig{}, errs
	}
	switch v := v.(type) {
	case nil:
		return ExposeConfig{}, nil
	case bool:
		return ExposeConfig{Enabled: v}, nil
	case map[string]any:
		o := newObject(path, v)
		expose := ExposeConfig{Enabled: true, Hostname: o.getString("hostname")}
		if enabled, ok := o.take("enabled"); ok {
			if expose.Enabled, ok = enabled.(bool); !ok {
				o.fail(wrongType(path.Child("enabled"), "a boolean"))
			}
		}
		o.refuseRest([]string{"enabled", "hostname"})
		return expose, o.errs
	default:
		return ExposeConfig{}, field.ErrorList{wrongType(path, "a boolean, or an object with enabled and hostname")}
	}
}

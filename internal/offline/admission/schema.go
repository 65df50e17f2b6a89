// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Schema is a compiled version of a CRD. It is immutable and safe for concurrent use.
type Schema struct {
	structural *schema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// NewSchema compiles a version of a CRD in YAML.
func NewSchema(definition []byte, version string) (*Schema, error) {
	props, err := readSchema(definition, version)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition, version %s: %w", version, err)
	}
	structural, err := schema.NewStructural(props)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition, version %s: %w", version, err)
	}
	openAPI, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition, version %s: %w", version, err)
	}
	return &Schema{
		structural: structural, openAPI: openAPI, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}

var errNoVersion = errors.New("there is no such version")

func readSchema(definition []byte, version string) (*apiextensions.JSONSchemaProps, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(definition, &crd); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
	if i < 0 || crd.Spec.Versions[i].Schema == nil {
		return nil, errNoVersion
	}
	props := &apiextensions.JSONSchemaProps{}
	open := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
	return props, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(open, props, nil)
}

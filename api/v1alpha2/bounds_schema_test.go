// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/config/crd"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Proves: R63 (the schema of v1alpha2 has limits, and the schema of v1alpha1 has none: R52).
func TestSchemaHasTheBounds(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(crd.LlamaStackDistributions(), &definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		spec := version.Schema.OpenAPIV3Schema.Properties["spec"]
		if version.Name == "v1alpha1" {
			env := spec.Properties["server"].Properties["containerSpec"].Properties["env"]
			if env.Type != "array" || env.MaxItems != nil {
				t.Errorf("v1alpha1 bounds env: %s %v", env.Type, env.MaxItems)
			}
			continue
		}
		resources := spec.Properties["resources"].Properties
		overrides := spec.Properties["workload"].Properties["overrides"].Properties
		for name, c := range map[string]struct {
			schema apiextensionsv1.JSONSchemaProps
			most   int64
		}{
			"models":   {resources["models"], limits.Models},
			"tools":    {resources["tools"], limits.Tools},
			"shields":  {resources["shields"], limits.Shields},
			"stores":   {resources["vectorStores"], limits.VectorStores},
			"env":      {overrides["env"], limits.EnvironmentEntries},
			"command":  {overrides["command"], limits.Items},
			"args":     {overrides["args"], limits.Items},
			"volumes":  {overrides["volumes"], limits.Items},
			"mounts":   {overrides["volumeMounts"], limits.Items},
			"spread":   {spec.Properties["workload"].Properties["topologySpreadConstraints"], limits.Items},
			"from":     {spec.Properties["networking"].Properties["allowedFrom"].Properties["namespaces"], limits.Items},
			"labels":   {spec.Properties["networking"].Properties["allowedFrom"].Properties["labels"], limits.Items},
			"disabled": {spec.Properties["disabled"], limits.DisabledNames},
		} {
			if c.schema.MaxItems == nil || *c.schema.MaxItems != c.most {
				t.Errorf("%s: %v, want %d", name, c.schema.MaxItems, c.most)
			}
		}
	}
}

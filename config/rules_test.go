// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// TestRulesCompileOnOldKubernetes compiles the CEL rules of the CRD for Kubernetes 1.30. The package
// internal/offline/admission does this for the policy.
//
// Proves: R57
func TestRulesCompileOnOldKubernetes(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	decode(t, "crd/bases/llamastack.io_llamastackdistributions.yaml", &definition)
	old, rules := environment.MustBaseEnvSet(version.MajorMinor(1, 30)), 0
	for _, v := range definition.Spec.Versions {
		var props apiextensions.JSONSchemaProps
		framework.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil))
		root, err := schema.NewStructural(&props)
		framework.NoError(t, err)
		visitor := schema.Visitor{Structural: func(s *schema.Structural) bool {
			if len(s.XValidations) == 0 {
				return false
			}
			results, err := cel.Compile(s, model.SchemaDeclType(s, s == root), celconfig.PerCallLimit, old, cel.NewExpressionsEnvLoader())
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
			for i, r := range results {
				rules++
				if r.Error != nil {
					t.Errorf("%s: %s: %v", v.Name, s.XValidations[i].Rule, r.Error)
				}
			}
			return false
		}}
		visitor.Visit(root)
	}
	t.Logf("%d rules", rules)
	if rules < 10 {
		t.Errorf("found %d rules only", rules)
	}
}

// In Kubernetes 1.30, lastIndexOf of an empty string fails, and the policy then admits every object. Newer CEL
// libraries do not fail, so only "make test-oldest" shows it.
//
// Proves: R57
func TestPolicySearchesNoEmptyText(t *testing.T) {
	raw, err := os.ReadFile("policy/policy.yaml")
	framework.NoError(t, err)
	for _, receiver := range regexp.MustCompile(`(.{0,30})\.lastIndexOf\(`).FindAllStringSubmatch(string(raw), -1) {
		if !strings.HasSuffix(receiver[1], "(':' + string(p.provider))") {
			t.Errorf("…%s.lastIndexOf: the text may be empty", receiver[1])
		}
	}
}

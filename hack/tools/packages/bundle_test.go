// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// ignoredWarnings maps warnings of the OLM library to the reason why the bundle ignores them.
var ignoredWarnings = map[string]string{
	"Kind=LlamaStackDistribution: provided API should have an example annotation": "v1alpha1 is deprecated: an example would suggest its use",
	"APIs which were deprecated and removed in v1.25":                             "it compares groups and resources, and the versions in use are v1 and v2",
	"CSV contains permissions to create CRD":                                      "the permission is to patch the operator's own CRD",
}

// The OLM library accepts the bundle. The check of architectures is left out, because it pulls images with Docker.
func TestBundlePassesTheChecksOfOLM(t *testing.T) {
	bundle, err := manifests.GetBundleFromDir(filepath.Join(framework.Root(), "bundle"))
	framework.NoError(t, err)
	if bundle.CSV == nil || len(bundle.V1CRDs) != 1 || len(bundle.Objects) < 9 {
		t.Fatalf("the bundle has %d objects, %d CRDs", len(bundle.Objects), len(bundle.V1CRDs))
	}
	checks := validator.Validators{
		validation.ClusterServiceVersionValidator, validation.CustomResourceDefinitionValidator, validation.BundleValidator,
		validation.OperatorHubV2Validator, validation.StandardCapabilitiesValidator, validation.StandardCategoriesValidator,
		validation.ObjectValidator, validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator,
	}
	objects := bundle.ObjectsToValidate()
	for _, o := range bundle.Objects {
		objects = append(objects, o)
	}
	seen := map[string]bool{}
	for _, result := range checks.Validate(objects...) {
		for _, e := range result.Errors {
			t.Errorf("%s: %s", result.Name, e.Error())
		}
		for _, w := range result.Warnings {
			known := ""
			for text := range ignoredWarnings {
				if strings.Contains(w.Error(), text) {
					known = text
				}
			}
			seen[known] = true
			if known == "" {
				t.Errorf("%s: %s", result.Name, w.Error())
			}
		}
	}
	for text, reason := range ignoredWarnings {
		if !seen[text] {
			t.Errorf("OLM no longer warns %q: remove the exception (%s)", text, reason)
		}
	}
}

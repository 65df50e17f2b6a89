// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// fromYAML makes the open field that a user would write so.
func fromYAML(t *testing.T, text string) *apiextensionsv1.JSON {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

func itemsFromYAML(t *testing.T, texts ...string) []apiextensionsv1.JSON {
	t.Helper()
	var items []apiextensionsv1.JSON
	for _, text := range texts {
		items = append(items, *fromYAML(t, text))
	}
	return items
}

// expectErrors compares errors, each written as "path: body".
func expectErrors(t *testing.T, got field.ErrorList, want ...string) {
	t.Helper()
	texts := []string{}
	for _, err := range got {
		texts = append(texts, err.Error())
		if err.Field == "" || err.Detail == "" {
			t.Errorf("error without field or detail: %#v", err)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("a value got into the message: %s", err)
		}
	}
	if diff := cmp.Diff(append([]string{}, want...), texts); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// canary stands for a secret that someone pasted into the wrong field.
const canary = "sk-canary-7f3a"

// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
)

// Proves: R21, R27, R43, FR-024, FR-025, NFR-005, L-01, L-05, L-18, L-20.
func TestGolden(t *testing.T) {
	p := simple(t)
	for name, object := range map[string]objects.Object{
		"serviceaccount": objects.ServiceAccount(p),
		"configmap":      objects.ConfigMap(p),
		"deployment":     objects.Deployment(p),
		"service":        objects.Service(p),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			expect.File(t, filepath.Join("testdata", "simple", name+".yaml"), string(got))
		})
	}
}

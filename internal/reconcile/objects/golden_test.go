// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

var update = flag.Bool("update", false, "write the golden files")

// Proves: R21, R27, R43, FR-024, FR-025, NFR-005, L-01, L-05, L-18, L-20 (update the files with: go test
// ./internal/reconcile/objects -update).
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
			file := filepath.Join("testdata", "simple", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

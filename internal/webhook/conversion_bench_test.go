// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// BenchmarkConversionOverTLS converts an object over an open TLS connection; see docs/maintainers/performance.md.
func BenchmarkConversionOverTLS(b *testing.B) {
	text, err := os.ReadFile(filepath.FromSlash("../../api/v1alpha1/testdata/conversion/full-featured/before.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		b.Fatal(err)
	}
	server := httptest.NewUnstartedServer(NewIntake().Handler(Conversion()))
	server.StartTLS()
	defer server.Close()
	client, body := server.Client(), reviewOf("llamastack.io/v1alpha2", string(text))
	for b.Loop() {
		answer, err := client.Post(server.URL+ConversionPath, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		converted, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(converted), `"Success"`) {
			b.Fatalf("%d %v %s", answer.StatusCode, err, converted)
		}
		_ = answer.Body.Close()
	}
}

// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// typical is a resource of usual size: three providers and five models.
const typical = `
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: my-stack}
spec:
  distribution: {name: starter}
  providers:
    inference:
    - {id: vllm-primary, provider: vllm, endpoint: "http://vllm.models.svc:8000", apiKey: {name: keys, key: vllm}, settings: {max_tokens: 8192}}
    - {id: openai, provider: openai, apiKey: {name: keys, key: openai}}
    vectorIo:
      provider: pgvector
      endpoint: "postgres.data.svc:5432"
      secretRefs: {password: {name: keys, key: pgvector}}
      settings: {db: vectors, user: llama}
  resources:
    models:
    - llama3.2-8b
    - {name: llama3.3-70b, provider: vllm-primary, contextLength: 128000}
    - {name: gpt-4o, provider: openai}
    - {name: gpt-4o-mini, provider: openai}
    - {name: o4-mini, provider: openai}
`

// BenchmarkTry measures DryRun of a typical resource, as validate calls it: schema, rules and build.
//
// Proves: NFR-002.
func BenchmarkTry(b *testing.B) {
	cluster := newCluster(b)
	cluster.Replacement.Version = catalog.Newest()
	docs, errs := manifest.Read([]string{manifest.Stdin}, false, strings.NewReader(typical))
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	b.ReportAllocs()
	report := framework.ReportCPU(b)
	for b.Loop() {
		if r := cluster.DryRun(b.Context(), docs[0]); r.Failed() {
			b.Fatal(r.Problems)
		}
	}
	report()
}

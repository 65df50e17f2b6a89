// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// typical is a resource of usual size: three providers, five models, and PostgreSQL storage.
const typical = `
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
storage:
  sql: {type: postgres, connectionString: {name: keys, key: dsn}}
`

// BenchmarkGenerateTypical generates the configuration of a typical resource from the newest starter base.
func BenchmarkGenerateTypical(b *testing.B) {
	spec := &v1alpha2.LlamaStackDistributionSpec{}
	if err := yaml.UnmarshalStrict([]byte(typical), spec); err != nil {
		b.Fatal(err)
	}
	line, _ := catalog.Get(catalog.Newest())
	data, _ := distributions.Base("starter", line.Name)
	base, err := document.ParseBase("starter", data)
	framework.NoError(b, err)
	b.ReportAllocs()
	report := framework.ReportCPU(b)
	for b.Loop() {
		if _, findings := serverconfig.Generate(b.Context(), serverconfig.Input{Name: "my-stack", Namespace: "default", Spec: parse.Parse(spec), Base: base, Line: line}); findings.HasErrors() {
			b.Fatal(findings)
		}
	}
	report()
}

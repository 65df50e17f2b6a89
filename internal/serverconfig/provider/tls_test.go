// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R105, R25 (certificates of a provider go into the fields of its release line, and an error names a line
// without them).
func TestTLSOfProviders(t *testing.T) {
	const both = "tls: {caBundle: {configMapName: ca}, clientCertificate: {secretName: cert}}"
	for name, c := range map[string]struct {
		line, provider string
		// want are parts of the configuration, or of the problem.
		want []string
	}{
		"both": {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', " + both + "}", []string{
			"verify: /etc/llama-stack-provider-tls/ca/ca/ca-bundle.crt", "client_cert: /etc/llama-stack-provider-tls/client/cert/tls.crt",
			"client_key: /etc/llama-stack-provider-tls/client/cert/tls.key",
		}},
		"another key": {"1.5", "inference: {provider: openai, tls: {caBundle: {configMapName: ca, key: root.pem}}}", []string{"verify: /etc/llama-stack-provider-tls/ca/ca/root.pem"}},
		"beside settings": {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {network: {timeout: 5, tls: {min_version: TLSv1.3}}}, " + both + "}", []string{
			"min_version: TLSv1.3", "timeout: 5", "client_cert: /etc/",
		}},
		"vLLM's own field": {"0.4", "inference: {provider: vllm, endpoint: 'https://vllm', tls: {caBundle: {configMapName: ca}}}", []string{"tls_verify: /etc/llama-stack-provider-tls/ca/ca/ca-bundle.crt"}},
		"an older line": {"0.4", "inference: {provider: vllm, endpoint: 'https://vllm', " + both + "}", []string{
			"spec.providers.inference.tls.clientCertificate.secretName: Forbidden: remote::vllm has no field for it on release line 0.4", "0.5",
		}},
		"a type without it": {"1.5", "vectorIo: {provider: qdrant, endpoint: 'https://q:6333', " + both + "}", []string{
			"spec.providers.vectorIo.tls.clientCertificate.secretName: Forbidden: remote::qdrant has no field for it on release line 1.5",
		}},
		"an unknown type": {"1.5", "inference: {provider: 'remote::mine', " + both + "}", []string{"spec.providers.inference.tls: Forbidden", "overrides.volumes"}},
		"twice": {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {network: {tls: {verify: /a}}}, " + both + "}", []string{
			"spec.providers.inference.tls: Forbidden: sets network.tls.verify", "spec.providers.inference.settings.network.tls.verify",
		}},
		"twice in an old line": {"0.4", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {tls_verify: true}, tls: {caBundle: {configMapName: ca}}}", []string{"sets tls_verify"}},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, found := step.Parsed(t, "providers: {"+c.provider+"}"), &problem.Collector{}
			if len(parsed.Problems) > 0 {
				t.Fatal(parsed.Problems.Message())
			}
			doc := step.Document(t, "storage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}}}\n")
			Apply(t.Context(), doc, step.Line(t, c.line), parsed.Providers, environment.NewSet(parsed.Source), found)
			got := found.List().Errors().Message()
			if got == "" {
				got = written(t, doc)
			}
			for _, part := range c.want {
				if !strings.Contains(got, part) {
					t.Errorf("%q is missing in\n%s", part, got)
				}
			}
		})
	}
}

// Proves: R105, R3.
func TestTLSOfProvidersIsParsedStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"x":                                "spec.providers.inference.tls: Invalid value",
		"{}":                               "spec.providers.inference.tls: Required value: caBundle, clientCertificate, or both",
		"{ca: {}}":                         "spec.providers.inference.tls.ca: Invalid value: unknown field",
		"{caBundle: {}}":                   "spec.providers.inference.tls.caBundle.configMapName: Required value",
		"{caBundle: {configMapName: A_b}}": "spec.providers.inference.tls.caBundle.configMapName: Invalid value",
		"{caBundle: {configMapName: a, key: ../b}}": "spec.providers.inference.tls.caBundle.key: Invalid value",
		"{clientCertificate: {secret: a}}":          "spec.providers.inference.tls.clientCertificate.secret: Invalid value: unknown field",
		"{clientCertificate: a}":                    "spec.providers.inference.tls.clientCertificate: Invalid value",
	} {
		if got := parse.Parse(step.Spec(t, "providers: {inference: {provider: vllm, tls: "+text+"}}")).Problems.Message(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func written(t *testing.T, doc *document.Document) string {
	t.Helper()
	out, err := yaml.Marshal(doc.Root())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

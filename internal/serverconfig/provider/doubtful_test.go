// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R11, R25, R74.
func TestDoubtfulProvidersGetAWarning(t *testing.T) {
	const inference, vectors = "spec.providers.inference.", "spec.providers.vectorIo."
	const address = "Warning InvalidField " + inference + "endpoint\n"
	for name, c := range map[string]struct{ line, providers, want string }{
		"address of vLLM":                  {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm:8000'}", ""},
		"address of vLLM with its path":    {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm:8000/v1/'}", ""},
		"address below a gateway":          {"1.5", "inference: {provider: vllm, endpoint: 'http://gateway/models/a/v1'}", ""},
		"gateway whose path is models":     {"1.5", "inference: {provider: vllm, endpoint: 'http://gateway/models'}", ""},
		"path of a chat":                   {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm:8000/v1/chat/completions'}", address},
		"path of a chat with a slash":      {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm:8000/v1/chat/completions/'}", address},
		"path of a chat, other port":       {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm:${env.PORT}/v1/chat/completions'}", address},
		"path of a chat in an old server":  {"0.3", "inference: {provider: vllm, endpoint: 'http://vllm:8000/v1/chat/completions'}", address},
		"path of models":                   {"0.7", "inference: {provider: openai, endpoint: 'https://proxy/v1/models', apiKey: {name: s, key: k}}", address},
		"path of embeddings":               {"0.7", "inference: {provider: vllm, endpoint: 'http://vllm/v1/embeddings?a=b'}", address},
		"path of a chat in settings":       {"1.5", "inference: {provider: vllm, settings: {base_url: 'http://vllm/v1/chat/completions'}}", "Warning InvalidField " + inference + "settings.base_url\n"},
		"path of a chat in config":         {"1.5", "inference: {provider: vllm, config: {base_url: 'http://vllm/v1/completions'}}", "Warning InvalidField " + inference + "config.base_url\n"},
		"address in the environment":       {"1.5", "inference: {provider: vllm, endpoint: '${env.VLLM_URL}'}", ""},
		"Ollama":                           {"1.5", "inference: {provider: ollama, endpoint: 'http://ollama:11434'}", ""},
		"Ollama with the path of OpenAI":   {"1.5", "inference: {provider: ollama, endpoint: 'http://ollama:11434/v1'}", ""},
		"Ollama's own API":                 {"1.5", "inference: {provider: ollama, endpoint: 'http://ollama:11434/api'}", address},
		"Ollama's own API with a slash":    {"0.3", "inference: {provider: ollama, endpoint: 'http://ollama:11434/api/'}", address},
		"Ollama's chat":                    {"0.7", "inference: {provider: ollama, endpoint: 'http://ollama:11434/api/chat'}", address},
		"Ollama's /v1 in an old server":    {"0.3", "inference: {provider: ollama, endpoint: 'http://ollama:11434/v1'}", address},
		"vLLM behind a path named api":     {"1.5", "inference: {provider: vllm, endpoint: 'http://gateway/api'}", ""},
		"Qdrant in the cluster":            {"1.5", "vectorIo: {provider: qdrant, endpoint: 'http://qdrant'}", ""},
		"Qdrant with HTTPS":                {"1.5", "vectorIo: {provider: qdrant, endpoint: 'https://qdrant.example.com'}", "Warning InvalidField " + vectors + "endpoint\n"},
		"Qdrant with HTTPS in settings":    {"0.7", "vectorIo: {provider: qdrant, settings: {url: 'https://qdrant.example.com'}}", "Warning InvalidField " + vectors + "settings.url\n"},
		"Qdrant with HTTPS and a port":     {"1.5", "vectorIo: {provider: qdrant, endpoint: 'https://qdrant.example.com:6333'}", ""},
		"Qdrant with its port in settings": {"1.5", "vectorIo: {provider: qdrant, endpoint: 'https://qdrant.example.com', settings: {port: 443}}", ""},
		"Qdrant's cloud":                   {"1.5", "vectorIo: {provider: qdrant, endpoint: 'https://a.eu-central-1.aws.cloud.qdrant.io'}", ""},
		"verification on":                  {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {network: {tls: {verify: true}}}}", ""},
		"verification with a file":         {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {network: {tls: {verify: /etc/ca.crt}}}}", ""},
		"verification off":                 {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {network: {tls: {verify: false}}}}", "Warning Unprotected " + inference + "settings.network.tls.verify\n"},
		"verification off without TLS":     {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm', settings: {network: {tls: {verify: false}}}}", ""},
		"certificates":                     {"1.5", "inference: {provider: vllm, endpoint: 'https://vllm', tls: {caBundle: {configMapName: c}}}", ""},
		"certificates without TLS":         {"1.5", "inference: {provider: vllm, endpoint: 'http://vllm', tls: {caBundle: {configMapName: c}}}", "Warning NoEffect " + inference + "tls\n"},
		"certificates, URL in settings":    {"1.5", "inference: {provider: vllm, settings: {base_url: 'http://vllm'}, tls: {clientCertificate: {secretName: c}}}", "Warning NoEffect " + inference + "tls\n"},
		"certificates, address unknown":    {"1.5", "inference: {provider: vllm, endpoint: '${env.VLLM_URL}', tls: {caBundle: {configMapName: c}}}", ""},
		"verification off in text":         {"0.7", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {tls_verify: 'False'}}", "Warning Unprotected " + inference + "settings.tls_verify\n"},
		"verification off by a variable":   {"0.7", "inference: {provider: vllm, endpoint: 'https://vllm', settings: {tls_verify: '${env.V:=false}'}}", ""},
		"verification off in a database":   {"1.5", "vectorIo: {provider: infinispan, password: {name: s, key: k}, endpoint: 'https://i:11222', settings: {username: u, verify_tls: false}}", "Warning Unprotected " + vectors + "settings.verify_tls\n"},
	} {
		parsed, found := step.Parsed(t, "providers: {"+c.providers+"}"), &problem.Collector{}
		base := "storage: {backends: {kv_default: {type: kv_sqlite, db_path: /a}}}\n"
		Apply(t.Context(), step.Document(t, base), step.Line(t, c.line), parsed.Providers, environment.NewSet(parsed.Source), found)
		step.Problems(t, name, found, c.want)
	}
}

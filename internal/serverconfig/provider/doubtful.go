// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// requestPath matches the path of a request, which the server appends to the address of an inference provider.
var requestPath = regexp.MustCompile(
	`/(chat/completions|v1/(chat|completions|embeddings|messages|models|rerank|responses))/*$`)

// address returns the address of the backend and its path, from endpoint or settings; empty if there is none.
func (p *Provider) address() (text, path string) {
	if p.row == nil || p.row.Endpoint == nil {
		return "", ""
	}
	for _, key := range slices.Sorted(maps.Keys(p.spec.Settings)) {
		if text, ok := p.spec.Settings[key].(string); ok && p.canonical(key) == p.row.Endpoint.Field {
			return text, limits.Join(p.spec.Path+"."+p.spec.SettingsField, "."+key)
		}
	}
	return p.spec.Endpoint, p.spec.EndpointPath()
}

// warnAddress warns of an address at which the server would not find its backend.
func (p *Provider) warnAddress(problems *problem.Collector) {
	text, path := p.address()
	u, err := url.Parse(document.MaskReferences(text))
	if err != nil || u.Host == "" {
		return
	}
	warn := func(detail, fix string) {
		problems.Add(problem.Problem{Reason: problem.InvalidField, Severity: problem.Warning, Path: path, Detail: detail,
			Fix: fix})
	}
	trimmed := strings.TrimRight(u.Path, "/")
	request := ""
	if p.api == parse.APIInference.Name {
		request = requestPath.FindString(u.Path)
	}
	switch {
	case request != "":
		warn("ends with the path of a request, and the server appends such paths itself",
			"remove "+strings.TrimPrefix(request, "/v1"))
	case p.name == "remote::ollama" && (trimmed == "/api" || strings.HasPrefix(trimmed, "/api/")):
		fix := "remove the path"
		if p.row.Endpoint.DefaultPath != "" {
			fix = "write " + p.row.Endpoint.DefaultPath + " instead of this path"
		}
		warn("is the address of Ollama's own API, but the server uses the one that is compatible with OpenAI", fix)
	case p.name == "remote::ollama" && trimmed == "/v1" && p.row.Endpoint.DefaultPath == "":
		warn(fmt.Sprintf("ends with /v1, which a server of release line %s appends itself", p.line.Name), "remove /v1")
	case p.name == "remote::qdrant" && u.Scheme == "https" && u.Port() == "" && !p.hasPort() &&
		!strings.HasSuffix(u.Hostname(), ".cloud.qdrant.io"):
		warn("has no port, and the client of Qdrant then uses 6333, not the 443 of HTTPS",
			"add :443 for an Ingress or a Route, or :6333 to keep that port")
	}
}

// hasPort reports whether the settings name the port of the backend.
func (p *Provider) hasPort() bool {
	_, given := p.spec.Settings["port"]
	return given
}

// warnPlain warns of certificates for an address without TLS.
func (p *Provider) warnPlain(problems *problem.Collector) {
	text, path := p.address()
	if p.spec.TLS == nil || !strings.HasPrefix(strings.ToLower(text), "http://") {
		return
	}
	problems.Add(problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Path: p.spec.TLS.Path,
		Detail: "has no effect, because " + path + " begins with http://",
		Fix:    "write https://, or remove it",
	})
}

// warnUnverified warns of settings that turn off the verification of the backend's certificate, if it may have one.
func (p *Provider) warnUnverified(problems *problem.Collector) {
	if text, _ := p.address(); strings.HasPrefix(text, "http://") {
		return
	}
	warnUnverified(p.spec.Settings, p.spec.Path+"."+p.spec.SettingsField, problems)
}

func warnUnverified(values map[string]any, path string, problems *problem.Collector) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := limits.Join(path, "."+key)
		inner, isMap := values[key].(map[string]any)
		switch {
		case isMap:
			warnUnverified(inner, at, problems)
		case slices.Contains(verifyFields, key) && IsFalse(values[key]),
			key == "verify" && strings.HasSuffix(path, ".tls") && IsFalse(values[key]):
			problems.Add(UnverifiedTLS(at))
		}
	}
}

// verifyFields are the fields that turn the verification of certificates on and off. The other one is tls.verify.
var verifyFields = []string{"tls_verify", "verify_certs", "verify_ssl", "verify_tls"}

// UnverifiedTLS returns the warning of a field that turns off the verification of a certificate.
func UnverifiedTLS(path string) problem.Problem {
	return problem.Problem{
		Reason: problem.Unprotected, Severity: problem.Warning, Path: path,
		Detail: "the server does not verify the certificate: everyone on the way can read keys and data, and change them",
		Fix:    "remove it, and set the CA certificates of the other side in spec.networking.tls.caBundle",
	}
}

// IsFalse reports whether the server parses a value as false.
func IsFalse(value any) bool {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		return slices.Contains([]string{"0", "off", "f", "false", "n", "no"}, strings.ToLower(value))
	case int64:
		return value == 0
	}
	return false
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/url"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

const endpointExample = "for example endpoint: http://vllm.models.svc:8000"

// resolveEndpoint checks an endpoint and returns what the server should get: a URL without a path gets the one that
// the release line needs, a path that the user wrote stays. The row's endpoint is nil for an unknown provider type, whose
// endpoint is taken as it is. No message carries the endpoint: it may hold a password.
func resolveEndpoint(endpoint, path string, row *catalog.Endpoint, findings *report) string {
	// References to the environment stand in for parts of the URL; digits are harmless in every part.
	masked := envPattern.ReplaceAllStringFunc(endpoint, func(ref string) string { return strings.Repeat("0", len(ref)) })
	_, rest, hasScheme := strings.Cut(masked, "://")
	if !hasScheme {
		rest = masked
	}
	authority, _, _ := strings.Cut(rest, "/")
	authority, _, _ = strings.Cut(authority, "?")
	if strings.Contains(authority, "@") {
		findings.fail(InvalidEndpoint, path, "must not contain user name or password: it would stand in a ConfigMap for all to read",
			"remove everything up to the @, and give the credential by apiKey or secretRefs")
		return endpoint
	}
	if row == nil || row.Kind != catalog.EndpointURL || strings.HasPrefix(endpoint, "${env.") {
		return endpoint
	}
	u, err := url.Parse(masked)
	switch {
	case !hasScheme || (err == nil && u.Scheme != "http" && u.Scheme != "https"):
		findings.fail(InvalidEndpoint, path, "must begin with http:// or https://", endpointExample)
		return endpoint
	case err != nil || u.Hostname() == "":
		findings.fail(InvalidEndpoint, path, "is not a URL with a host", endpointExample)
		return endpoint
	case u.Path != "" && u.Path != "/":
		return endpoint
	}
	end := len(masked)
	if at := strings.IndexAny(masked, "?#"); at >= 0 {
		end = at
	}
	return strings.TrimSuffix(endpoint[:end], "/") + row.DefaultPath + endpoint[end:]
}

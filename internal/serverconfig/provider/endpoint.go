// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Value is a config field derived from an endpoint.
type Value struct {
	Field string
	Node  *yaml.Node
}

// CredentialBySecret is the fix for a credential in an address, for fields that support Secrets.
const CredentialBySecret = "use apiKey or secretRefs for the credential"

// ResolveEndpoint validates an endpoint and returns its config fields, or nil for an invalid one. A URL without a path
// gets the row's default path; a nil row takes any endpoint.
func ResolveEndpoint(endpoint, path string, row *catalog.Endpoint, problems *problem.Collector) []Value {
	return resolve(endpoint, path, CredentialBySecret, row, problems)
}

// resolve is ResolveEndpoint with a custom fix for a credential in the address.
func resolve(endpoint, path, credential string, row *catalog.Endpoint, problems *problem.Collector) []Value {
	masked := document.MaskReferences(endpoint)
	if address.HasUserInfo(endpoint) {
		rejectEndpoint(path, userInfoForbidden, "remove everything up to the @, and "+credential, problems)
		return nil
	}
	warnParameters(endpoint, path, problems)
	switch {
	case row == nil:
		return []Value{{fallbackEndpointField, document.String(endpoint)}}
	case document.IsReference(endpoint):
		return []Value{{row.Field, document.String(endpoint)}}
	case row.Kind == catalog.EndpointURL:
		return resolveURL(endpoint, masked, path, row, problems)
	default:
		return resolveAddress(endpoint, masked, path, row, problems)
	}
}

// convertScheme converts an object's http or https address to the provider type's scheme, or removes the scheme.
func convertScheme(endpoint string, row *catalog.Endpoint) string {
	scheme, rest, found := strings.Cut(endpoint, "://")
	switch {
	case !found || row == nil || slices.Contains(row.Schemes, scheme):
		return endpoint
	case row.Kind != catalog.EndpointURL:
		return rest
	case len(row.Schemes) > 0:
		return row.Schemes[0] + "://" + rest
	}
	return endpoint
}

const userInfoForbidden = "must not contain a user name or password, because it would be readable in a ConfigMap"

func rejectEndpoint(path, detail, fix string, problems *problem.Collector) {
	problems.Add(problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid, Detail: detail,
		Fix: fix})
}

// schemePattern matches an address with a scheme.
var schemePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

func resolveURL(endpoint, masked, path string, row *catalog.Endpoint, problems *problem.Collector) []Value {
	schemes := row.Schemes
	if len(schemes) == 0 {
		schemes = []string{"http", "https"}
	}
	example := exampleEndpoint(row)
	if strings.HasPrefix(endpoint, "${env.") {
		return []Value{{row.Field, document.String(endpoint)}} // the scheme may be in the environment
	}
	u, err := url.Parse(masked)
	switch {
	case !strings.Contains(masked, "://") || (err == nil && !slices.Contains(schemes, strings.ToLower(u.Scheme))):
		rejectEndpoint(path, "must begin with "+alternatives(schemes), example, problems)
		return nil
	case err != nil || u.Hostname() == "":
		rejectEndpoint(path, "is not a URL with a host", example, problems)
		return nil
	case !validPort(endpoint, masked, u.Port()):
		rejectEndpoint(path, address.InvalidPort, example, problems)
		return nil
	case u.Path != "" && u.Path != "/":
		return []Value{{row.Field, document.String(endpoint)}}
	}
	toPath, _, _ := strings.Cut(masked, "?")
	toPath, _, _ = strings.Cut(toPath, "#")
	completed := strings.TrimSuffix(endpoint[:len(toPath)], "/") + row.DefaultPath + endpoint[len(toPath):]
	return []Value{{row.Field, document.String(completed)}}
}

// validPort reports whether the port of a masked URL is valid or contains an environment reference.
func validPort(endpoint, masked, port string) bool {
	if port == "" || address.IsPort(port) {
		return true
	}
	authority := strings.Index(masked, "://") + len("://")
	end := len(masked)
	if length := strings.IndexAny(masked[authority:], "/?#"); length >= 0 {
		end = authority + length
	}
	return document.HasReference(endpoint[end-len(port) : end])
}

// alternatives joins schemes for a message: "http:// or https://".
func alternatives(schemes []string) string {
	last := len(schemes) - 1
	return strings.Join(schemes[:last], "://, ") + ":// or " + schemes[last] + "://"
}

// exampleEndpoint returns an example endpoint for messages.
func exampleEndpoint(row *catalog.Endpoint) string {
	switch {
	case row.Example != "":
		return "for example endpoint: " + row.Example
	case row.Kind != catalog.EndpointURL:
		return "for example endpoint: database.example.svc:5432"
	case len(row.Schemes) > 0:
		return "for example endpoint: " + row.Schemes[0] + "://database.example.svc:7687"
	default:
		return "for example endpoint: http://backend.example.svc:8000"
	}
}

// ResolveURL validates and returns the address of a collector or MCP server. example and credential are message texts.
func ResolveURL(endpoint, path, example, credential string, problems *problem.Collector) (string, bool) {
	row := &catalog.Endpoint{Kind: catalog.EndpointURL, Example: example}
	for _, v := range resolve(endpoint, path, credential, row, problems) {
		return document.Text(v.Node), true
	}
	return "", false
}

// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

const maxTCPPort = 65535

// endpointValue is one config field that an endpoint becomes.
type endpointValue struct {
	field string
	value *yaml.Node
}

// resolveEndpoint checks an endpoint and returns the fields that it becomes: a URL without a path gets the path that the
// release line needs, a path that the user wrote stays. The row's endpoint is nil for an unknown provider type, whose endpoint
// is taken as it is. Nothing comes back where the endpoint is wrong. No message carries it: it may hold a password.
func resolveEndpoint(endpoint, path string, row *catalog.Endpoint, findings *report) []endpointValue {
	masked := document.MaskReferences(endpoint)
	if hasUserInfo(masked) {
		findings.fail(InvalidEndpoint, path, "must not contain user name or password: it would stand in a ConfigMap for all to read",
			"remove everything up to the @, and give the credential by apiKey or secretRefs")
		return nil
	}
	warnParameters(endpoint, path, findings)
	switch {
	case row == nil:
		return []endpointValue{{fallbackEndpointField, document.String(endpoint)}}
	case document.IsReference(endpoint):
		return []endpointValue{{row.Field, document.String(endpoint)}}
	case row.Kind == catalog.EndpointURL:
		return resolveURL(endpoint, masked, path, row, findings)
	default:
		return resolveAddress(endpoint, masked, path, row, findings)
	}
}

// beforeAuthority is what can stand before the authority of a URL, well-formed or not.
var beforeAuthority = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*`)

// hasUserInfo reports whether an address names a user, in whatever form.
func hasUserInfo(address string) bool {
	rest := beforeAuthority.ReplaceAllString(address, "")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.Contains(rest, "@")
}

func resolveURL(endpoint, masked, path string, row *catalog.Endpoint, findings *report) []endpointValue {
	schemes := row.Schemes
	if len(schemes) == 0 {
		schemes = []string{"http", "https"}
	}
	example := exampleEndpoint(row)
	if strings.HasPrefix(endpoint, "${env.") {
		return []endpointValue{{row.Field, document.String(endpoint)}} // the scheme is the environment's business
	}
	u, err := url.Parse(masked)
	switch {
	case !strings.Contains(masked, "://") || (err == nil && !slices.Contains(schemes, strings.ToLower(u.Scheme))):
		findings.fail(InvalidEndpoint, path, "must begin with "+alternatives(schemes), example)
		return nil
	case err != nil || u.Hostname() == "":
		findings.fail(InvalidEndpoint, path, "is not a URL with a host", example)
		return nil
	case !validPort(u.Port()):
		findings.fail(InvalidEndpoint, path, "has no port between 1 and 65535 after the colon", example)
		return nil
	case u.Path != "" && u.Path != "/":
		return []endpointValue{{row.Field, document.String(endpoint)}}
	}
	end := len(masked)
	if at := strings.IndexAny(masked, "?#"); at >= 0 {
		end = at
	}
	whole := strings.TrimSuffix(endpoint[:end], "/") + row.DefaultPath + endpoint[end:]
	return []endpointValue{{row.Field, document.String(whole)}}
}

// validPort reports whether the port of a URL is valid; a reference to the environment, masked, is longer than any port.
func validPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || len(port) > len("65535") || (err == nil && n >= 1 && n <= maxTCPPort)
}

// alternatives joins schemes for a message: "http:// or https://".
func alternatives(schemes []string) string {
	last := len(schemes) - 1
	return strings.Join(schemes[:last], "://, ") + ":// or " + schemes[last] + "://"
}

// exampleEndpoint shows how an endpoint is written.
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

// resolveAddress takes host:port, in one field or split into two. A scheme before it goes where the row names it; for an
// address in one field http and https do where the row names none.
func resolveAddress(endpoint, masked, path string, row *catalog.Endpoint, findings *report) []endpointValue {
	example := "write host:port alone, " + exampleEndpoint(row)
	schemes := row.Schemes
	if len(schemes) == 0 && row.Kind == catalog.EndpointAddress {
		schemes = []string{"http", "https"}
	}
	if scheme, _, ok := strings.Cut(masked, "://"); ok {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			findings.fail(InvalidEndpoint, path, "must be an address without a scheme", example)
			return nil
		}
		cut := len(scheme) + len("://")
		endpoint, masked = strings.TrimSuffix(endpoint[cut:], "/"), strings.TrimSuffix(masked[cut:], "/")
	}
	host, port, problem := splitAddress(endpoint, masked)
	if problem != "" {
		findings.fail(InvalidEndpoint, path, problem, example)
		return nil
	}
	if row.Kind == catalog.EndpointAddress {
		return []endpointValue{{row.Field, document.String(endpoint)}}
	}
	values := []endpointValue{{row.Field, document.String(strings.Trim(host, "[]"))}}
	if n, err := strconv.Atoi(port); err == nil {
		values = append(values, endpointValue{row.PortField, document.Int(int64(n))})
	} else if port != "" {
		values = append(values, endpointValue{row.PortField, document.String(port)})
	}
	return values
}

// splitAddress splits host:port; an IPv6 address stands in brackets, which stay. The port can be a reference to the environment, or
// absent.
func splitAddress(address, masked string) (host, port, problem string) {
	if strings.ContainsAny(masked, `/\?#`) {
		return "", "", "must be host and port: nothing may follow them"
	}
	at := strings.Index(masked, ":")
	if end := strings.Index(masked, "]"); strings.HasPrefix(masked, "[") && end > 0 {
		at = end + 1
	} else if at < 0 {
		at = len(masked)
	}
	host, port = address[:at], strings.TrimPrefix(address[at:], ":")
	rest := masked[at:]
	switch {
	case rest != "" && rest[0] != ':':
		return "", "", "is not host:port"
	case strings.Count(rest, ":") > 1:
		return "", "", "has more than one colon: an IPv6 address stands in brackets"
	case host == "" || host == "[]":
		return "", "", "has no host"
	case rest != "" && !isPort(port):
		return "", "", "has no port between 1 and 65535 after the colon"
	}
	return host, port, ""
}

func isPort(port string) bool {
	if document.IsReference(port) {
		return true
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= maxTCPPort
}

// resolveURLFor returns the function by which other steps take a URL: the address of a collector, or of an MCP server.
func resolveURLFor(findings *report) func(endpoint, path, example string) (string, bool) {
	return func(endpoint, path, example string) (string, bool) {
		values := resolveEndpoint(endpoint, path, &catalog.Endpoint{Kind: catalog.EndpointURL, Example: example}, findings)
		if len(values) == 0 {
			return "", false
		}
		return document.Text(values[0].value), true
	}
}

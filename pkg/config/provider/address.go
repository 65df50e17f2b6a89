// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// resolveAddress takes host:port, in one field or split into two. A scheme before it goes where the row names it; for an
// address in one field http and https do where the row names none.
func resolveAddress(endpoint, masked, path string, row *catalog.Endpoint, problems *problem.Collector) []Value {
	example := "write host:port alone, " + exampleEndpoint(row)
	schemes := row.Schemes
	if len(schemes) == 0 && row.Kind == catalog.EndpointAddress {
		schemes = []string{"http", "https"}
	}
	if scheme, _, ok := strings.Cut(masked, "://"); ok {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			refuseEndpoint(path, "must be an address without a scheme", example, problems)
			return nil
		}
		cut := len(scheme) + len("://")
		endpoint, masked = strings.TrimSuffix(endpoint[cut:], "/"), strings.TrimSuffix(masked[cut:], "/")
	}
	host, port, fault := splitAddress(endpoint, masked)
	if fault != "" {
		refuseEndpoint(path, fault, example, problems)
		return nil
	}
	if row.Kind == catalog.EndpointAddress {
		return []Value{{row.Field, document.String(endpoint)}}
	}
	values := []Value{{row.Field, document.String(strings.Trim(host, "[]"))}}
	if n, err := strconv.Atoi(port); err == nil {
		values = append(values, Value{row.PortField, document.Int(int64(n))})
	} else if port != "" {
		values = append(values, Value{row.PortField, document.String(port)})
	}
	return values
}

// splitAddress splits host:port; an IPv6 address stands in brackets, which stay. The port can be a reference to the environment, or
// absent.
func splitAddress(address, masked string) (host, port, fault string) {
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

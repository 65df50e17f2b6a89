// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// resolveAddress validates host:port and returns it as one field or two. It accepts the row's schemes; for a single
// field, http and https by default.
func resolveAddress(endpoint, masked, path string, row *catalog.Endpoint, problems *problem.Collector) []Value {
	example := "write only host:port, " + exampleEndpoint(row)
	schemes := row.Schemes
	if len(schemes) == 0 && row.Kind == catalog.EndpointAddress {
		schemes = []string{"http", "https"}
	}
	if scheme, _, ok := strings.Cut(masked, "://"); ok {
		if !slices.Contains(schemes, strings.ToLower(scheme)) {
			rejectEndpoint(path, "must be an address without a scheme", example, problems)
			return nil
		}
		cut := len(scheme) + len("://")
		endpoint = strings.TrimSuffix(endpoint[cut:], "/")
	}
	host, port, reason := address.Split(endpoint)
	if reason != "" {
		rejectEndpoint(path, reason, example, problems)
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

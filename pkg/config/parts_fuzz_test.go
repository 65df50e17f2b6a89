// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
)

// FuzzMerge lays any JSON over any JSON: maps merge, the rest replaces, and neither side is changed or shared with the result.
//
// Proves: R9, L-11.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a": {"b": 1, "c": [1, 2]}, "d": null}`, `{"a": {"c": {"x": true}}, "e": "f"}`)
	f.Add(`{"a": null}`, `{"a": {"b": {}}}`)
	f.Add(`{"a": {"b": 1}}`, `{"a": null}`)
	f.Fuzz(func(t *testing.T, under, over string) {
		low, high := decodeMap(under), decodeMap(over)
		if low == nil || high == nil {
			return
		}
		original, result := valueNode(low), valueNode(low)
		copied := clone(original)
		merge(result, high)
		merge(copied, high)
		if !cmp.Equal(plain(original), plain(valueNode(low))) {
			t.Error("a copy shares something with what it was copied from")
		}
		if !cmp.Equal(plain(result), plain(copied)) {
			t.Error("a copy merges otherwise")
		}
		if want := merged(low, high); !cmp.Equal(plain(result), plain(valueNode(want))) {
			t.Errorf("merged %v\nwant %v", plain(result), want)
		}
		if !cmp.Equal(high, decodeMap(over)) {
			t.Error("what is laid over was changed")
		}
		spoil(result)
		if !cmp.Equal(high, decodeMap(over)) || !cmp.Equal(plain(valueNode(low)), plain(original)) {
			t.Error("the result shares something with its inputs")
		}
	})
}

// decodeMap reads a JSON map as the parsers of the resource do; nil for anything else.
func decodeMap(text string) map[string]any {
	var v map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&v) != nil || decoder.More() {
		return nil
	}
	return v
}

// merged is what merge is meant to do, said once more on plain maps.
func merged(low, high map[string]any) map[string]any {
	result := maps.Clone(low)
	for key, value := range high {
		lowMap, lowIsMap := result[key].(map[string]any)
		highMap, highIsMap := value.(map[string]any)
		if lowIsMap && highIsMap {
			value = merged(lowMap, highMap)
		}
		result[key] = value
	}
	return result
}

// spoil changes every scalar of a tree.
func spoil(n *yaml.Node) {
	n.Value += "spoiled"
	for _, inner := range n.Content {
		spoil(inner)
	}
}

// FuzzResolveEndpoint feeds any endpoint: it never panics; what passes is a URL of the right scheme without user information, keeps
// what the user wrote, and no message shows it.
//
// Proves: R11, R33, NFR-004.
func FuzzResolveEndpoint(f *testing.F) {
	for _, endpoint := range []string{
		"http://vllm:8000", "https://x.example/v1?a=b#c", "${env.URL}", "http://${env.HOST:=h}:${env.PORT}/", "http://me:hunter2@x", "x:1", "http://[::1]:8000", "",
	} {
		f.Add(endpoint)
	}
	row := &catalog.Endpoint{Field: "base_url", Kind: catalog.EndpointURL, DefaultPath: "/v1"}
	f.Fuzz(func(t *testing.T, endpoint string) {
		var findings report
		resolved := ""
		if values := resolveEndpoint(endpoint, "spec.x", row, &findings); len(values) > 0 {
			resolved = text(values[0].value)
		}
		for _, finding := range findings.Findings {
			if finding.Path == "" || finding.Message == "" || finding.Mending == "" {
				t.Errorf("incomplete finding %+v", finding)
			}
			if len(endpoint) > 30 && strings.Contains(finding.String(), endpoint) {
				t.Error("the message shows the endpoint")
			}
		}
		if len(findings.Findings) > 0 || strings.HasPrefix(endpoint, "${env.") {
			return
		}
		references := func(s string) []string { return envPattern.FindAllString(s, -1) }
		if !slices.Equal(references(endpoint), references(resolved)) {
			t.Errorf("the references of %q and %q differ", endpoint, resolved)
		}
		u, err := url.Parse(envPattern.ReplaceAllString(resolved, "0"))
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil || u.Path == "" {
			t.Errorf("%q became %q, which is not a URL with scheme, host and path: %v", endpoint, resolved, err)
		}
	})
}

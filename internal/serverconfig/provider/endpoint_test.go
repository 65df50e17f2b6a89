// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

func fieldsText(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(v.Field + "=" + v.Node.Value + "(" + v.Node.Tag + ") ")
	}
	return strings.TrimSpace(b.String())
}

// All valid notations of an endpoint give the value that the server reads. Others are rejected without quoting them.
//
// Proves: FR-031, FR-075, R7, R11, R33.
func TestResolveEndpoint(t *testing.T) {
	kinds := map[string]struct {
		row   *catalog.Endpoint
		good  map[string]string
		wrong []string
	}{
		"url": {
			row: &catalog.Endpoint{Field: "base_url", Kind: catalog.EndpointURL, DefaultPath: "/v1"},
			good: map[string]string{
				"http://vllm:8000":                  "http://vllm:8000/v1",
				"http://vllm:8000/":                 "http://vllm:8000/v1",
				"http://vllm:8000/v1":               "http://vllm:8000/v1",
				"http://vllm:8000/v1/":              "http://vllm:8000/v1/",
				"https://h/some/path?a=b":           "https://h/some/path?a=b",
				"https://h?a=b":                     "https://h/v1?a=b",
				"https://h/?a=b/c":                  "https://h/v1?a=b/c",
				"HTTPS://h":                         "HTTPS://h/v1",
				"http://[::1]:8000":                 "http://[::1]:8000/v1",
				"http://h/@v":                       "http://h/@v",
				"http://${env.H}:${env.P:=80}":      "http://${env.H}:${env.P:=80}/v1",
				"http://h:8${env.P}?a=b":            "http://h:8${env.P}/v1?a=b",
				"http://h/${env.P:=v2}":             "http://h/${env.P:=v2}",
				"${env.URL}":                        "${env.URL}",
				"${env.URL}/v1":                     "${env.URL}/v1",
				"http://h?t=${env.T:=a?b}":          "http://h/v1?t=${env.T:=a?b}",
				"http://${env.NAME:=user@host}:800": "http://${env.NAME:=user@host}:800/v1",
			},
			wrong: []string{
				"vllm:8000", "vllm", "ftp://h", "http://", "http:///v1", "http://u:hunter2@h", "http://u@h", "http://a b", "http://h:port",
				"u:hunter2@h:1", "http://h\n", "//h", "//u:hunter2@h", "http:/u:hunter2@h", "http://u:hunter2@${env.H}", "http://:80",
				`http://h\@x`, "http://h:1:2", "unix:///run/x", "http://h:0", "http://h:65536", "http://h:800000", "http://h:000000/v1?a=${env.P}", "http://${env.H}:800000", "bolt://h",
			},
		},
		"url of another scheme": {
			row: &catalog.Endpoint{Field: "uri", Kind: catalog.EndpointURL, Schemes: []string{"bolt", "neo4j+s"}},
			good: map[string]string{
				"bolt://db:7687":       "bolt://db:7687",
				"neo4j+s://[fd00::1]/": "neo4j+s://[fd00::1]",
			},
			wrong: []string{"http://db:7474", "db:7687", "bolt://u:hunter2@db", "bolt:/u:hunter2@db"},
		},
		"address": {
			row: &catalog.Endpoint{Field: "cluster", Kind: catalog.EndpointAddress},
			good: map[string]string{
				"weaviate:8080":         "weaviate:8080",
				"weaviate":              "weaviate",
				"http://weaviate:8080":  "weaviate:8080",
				"https://weaviate:443/": "weaviate:443",
				"[fd00::1]:8080":        "[fd00::1]:8080",
				"[fd00::1]":             "[fd00::1]",
				"${env.W:=a:1}":         "${env.W:=a:1}",
				"${env.W}:8080":         "${env.W}:8080",
			},
			wrong: []string{
				"grpc://w:1", "w:1/path", "w:1?q", "w:port", "w:", ":1", "w:0", "w:99999", "fd00::1", "[fd00::1", "[fd00::1]x", "u:hunter2@w:1",
				"https://u:hunter2@w", "", "[]:1",
			},
		},
		"host and port": {
			row: &catalog.Endpoint{Field: "host", Kind: catalog.EndpointHostPort, PortField: "port"},
			good: map[string]string{
				"pg:5432":                 "pg port=5432",
				"pg":                      "pg",
				"10.0.0.1:5432":           "10.0.0.1 port=5432",
				"[fd00::1]:5432":          "fd00::1 port=5432",
				"[fd00::1]":               "fd00::1",
				"${env.PG}:${env.P:=543}": "${env.PG} port=${env.P:=543}",
				"${env.PG:=a}:5432":       "${env.PG:=a} port=5432",
				"${env.PG}":               "${env.PG}",
			},
			wrong: []string{"http://pg:5432", "postgresql://pg:5432/db", "pg:5432/db", "u:hunter2@pg:5432", "postgresql://u:hunter2@pg", "fd00::1", "pg:port"},
		},
	}
	for name, kind := range kinds {
		for in, want := range kind.good {
			var found problem.Collector
			got := ResolveEndpoint(in, "spec.x", kind.row, &found)
			text := strings.NewReplacer(kind.row.Field+"=", "", "(!!str)", "", "(!!int)", "").Replace(fieldsText(got))
			if text != want || len(found.List()) > 0 {
				t.Errorf("%s: ResolveEndpoint(%q) = %q, want %q; problems %v", name, in, text, want, found.List())
			}
			if len(got) == 2 && !strings.Contains(want, "port=$") && got[1].Node.Tag != "!!int" {
				t.Errorf("%s: the port of %q is not a number", name, in)
			}
		}
		for _, in := range kind.wrong {
			var found problem.Collector
			if got := ResolveEndpoint(in, "spec.x", kind.row, &found); got != nil {
				t.Errorf("%s: ResolveEndpoint(%q) = %s", name, in, fieldsText(got))
			}
			if len(found.List().Errors()) != 1 || found.List()[0].Reason != problem.InvalidField {
				t.Errorf("%s: ResolveEndpoint(%q) finds %v", name, in, found.List())
			}
			if strings.Contains(found.List().Message(), "hunter2") {
				t.Errorf("%s: the message shows the password: %s", name, found.List())
			}
		}
	}
	// The endpoint of an unknown provider type is accepted unless it has a password.
	for _, in := range []string{"http://u:hunter2@h", "u:hunter2@h", "//u:hunter2@h", "x:/u:hunter2@h", "x:u:hunter2@h/p"} {
		var found problem.Collector
		if got := ResolveEndpoint(in, "spec.x", nil, &found); got != nil || len(found.List().Errors()) != 1 || strings.Contains(found.List().Message(), "hunter2") {
			t.Errorf("unknown type: ResolveEndpoint(%q) = %s, finds %v", in, fieldsText(got), found.List())
		}
	}
	if got := fieldsText(ResolveEndpoint("anything:1", "spec.x", nil, &problem.Collector{})); got != "url=anything:1(!!str)" {
		t.Errorf("unknown type: %s", got)
	}
}

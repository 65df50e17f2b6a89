// SPDX-License-Identifier: Apache-2.0

package describe_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

func TestKindDescribesFieldType(t *testing.T) {
	one, three, zero := 1.0, 3.0, 0.0
	for want, field := range map[string]catalog.Field{
		"map":                        {Type: catalog.TypeMap, Object: "o"},
		"list of string":             {Type: catalog.TypeList, Elements: catalog.TypeString, Values: []string{"a"}},
		"bool or string":             {Type: catalog.TypeAny, AnyOf: []catalog.FieldType{catalog.TypeBool, catalog.TypeString}},
		"one of a, b":                {Type: catalog.TypeString, Values: []string{"a", "b"}},
		"int, at least 1, at most 3": {Type: catalog.TypeInt, Min: &one, Max: &three},
		"float, above 0":             {Type: catalog.TypeFloat, Above: &zero},
	} {
		if got := describe.Kind(field); got != want {
			t.Errorf("%+v is told as %q, want %q", field, got, want)
		}
	}
}

func TestLinesJoinsNeighbors(t *testing.T) {
	all := []string{"0.3", "0.4", "0.5", "1.0", "1.1"}
	for want, with := range map[string][]string{
		"": nil, "0.4": {"0.4"}, "0.3, 0.4": {"0.3", "0.4"}, "0.3 to 0.5, 1.1": {"0.3", "0.4", "0.5", "1.1"}, "0.3 to 1.1": all,
	} {
		if got := describe.Lines(with, all); got != want {
			t.Errorf("%v: %q, want %q", with, got, want)
		}
	}
}

func TestNotesBeginWithTheFieldsOfTheCustomResource(t *testing.T) {
	row := &catalog.Provider{
		Type: "remote::x", Key: "token", Endpoint: &catalog.Endpoint{Field: "url", Kind: catalog.EndpointURL, DefaultPath: "/v1", Required: true},
		Fields: map[string]catalog.Field{
			"url": {Required: true}, "token": {Secret: true}, "kv": {Required: true, Store: catalog.KV}, "name": {Required: true}, "called": {AliasOf: "name"},
		},
	}
	for name, want := range map[string]string{
		"url":   "[endpoint (path /v1 by default) required]",
		"token": "[key secret]",
		"kv":    "[set if omitted store (kv)]",
		"name":  "[also called required]",
	} {
		if got := fmt.Sprint(describe.Notes(row, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// The first provider type has no endpoint. In the second, the endpoint sets host and port.
func TestNotesNameTheFieldsThatSetAConfigField(t *testing.T) {
	row := &catalog.Provider{
		Type: "remote::x", Region: "zone", DeploymentName: "name", DataPath: "path",
		Fields: map[string]catalog.Field{"zone": {}, "name": {Required: true}, "path": {Required: true}, "size": {Required: true, Nullable: true}, "other": {}},
	}
	for name, want := range map[string]string{
		"zone": "[region]", "name": "[deploymentName required]", "path": "[set if omitted]", "size": "[set if omitted]", "other": "[]",
	} {
		if got := fmt.Sprint(describe.Notes(row, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	row = &catalog.Provider{Type: "remote::x", Endpoint: &catalog.Endpoint{Field: "host", PortField: "port", Kind: catalog.EndpointHostPort}}
	for name, want := range map[string]string{"host": "[endpoint]", "port": "[endpoint]", "db": "[]"} {
		if got := fmt.Sprint(describe.Notes(row, name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// Proves: FR-005 (the example has the required fields in the form of the spec).
func TestExampleHasRequiredFieldsOfProviderType(t *testing.T) {
	endpoint := func(e catalog.Endpoint) *catalog.Provider { return &catalog.Provider{Endpoint: &e} }
	for _, c := range []struct {
		providerType string
		row          *catalog.Provider
		want         string
	}{
		{"remote::vllm", &catalog.Provider{}, "provider: vllm\n"},
		{"inline::faiss", &catalog.Provider{}, "provider: inline::faiss\n"},
		{"remote::own::x", &catalog.Provider{}, "provider: remote::own::x\n"},
		{"remote::a", endpoint(catalog.Endpoint{Kind: catalog.EndpointURL}), "provider: a\nendpoint: http://server.example.com:8000\n"},
		{"remote::a", endpoint(catalog.Endpoint{Kind: catalog.EndpointHostPort}), "provider: a\nendpoint: database.example.com:5432\n"},
		{"remote::a", endpoint(catalog.Endpoint{Kind: catalog.EndpointAddress, Schemes: []string{"grpc"}}), "provider: a\nendpoint: server.example.com:8080\n"},
		{"remote::a", endpoint(catalog.Endpoint{Kind: catalog.EndpointURL, Schemes: []string{"bolt", "neo4j"}}), "provider: a\nendpoint: bolt://server.example.com:7687\n"},
		{"remote::a", &catalog.Provider{Key: "api_key"}, "provider: a\napiKey: {name: my-secret, key: token}\n"},
		{
			"remote::a", &catalog.Provider{Example: map[string]any{"port": 1, "db": map[string]any{"name": "x"}}},
			"provider: a\nsettings:\n  db:\n    name: x\n  port: 1\n",
		},
	} {
		got, err := describe.Example("inference", c.providerType, c.row)
		want := "providers:\n  inference:\n    " + strings.ReplaceAll(strings.TrimSuffix(c.want, "\n"), "\n", "\n    ") + "\n"
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.providerType, err, got, want)
		}
	}
}

// Proves: R18 (each reason has a description, a state and a remedy).
func TestReasonsDescribeProblemsAndConditions(t *testing.T) {
	states := map[string]string{}
	for _, r := range describe.Reasons() {
		states[r.Name] = r.State
		if r.Meaning == "" || r.Example == "" || len(r.Conditions) == 0 {
			t.Errorf("%+v", r)
		}
		if got := describe.Remedy(r.Name); got == "" && r.Remedy != "" {
			t.Errorf("%s: no remedy, and there is %q", r.Name, r.Remedy)
		}
	}
	for reason, want := range map[problem.Reason]string{
		problem.UnknownProvider: "error of the class Terminal", problem.SecretNotFound: "error of the class WaitingForDependency", problem.NoEffect: "warning", "DeploymentUpdated": "status True",
	} {
		if states[string(reason)] != want {
			t.Errorf("%s is described as %q, want %q", reason, states[string(reason)], want)
		}
	}
	for reason, some := range map[problem.Reason]bool{problem.UnknownProvider: true, "DeploymentUpdated": false, "Nonsense": false} {
		if got := describe.Remedy(string(reason)); (got != "") != some {
			t.Errorf("what to do about %s: %q", reason, got)
		}
	}
}

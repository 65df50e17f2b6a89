// SPDX-License-Identifier: Apache-2.0

package ogx

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func from(object map[string]any) (map[string]any, []Finding) { return From(object, Surroundings{}) }

func to(object map[string]any) (map[string]any, []Finding) { return To(object, nil) }

func isLost(findings []Finding, path string) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Path == path && f.Lost != "" })
}

func isRefused(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Refused })
}

// Proves: R7 (both directions return valid objects and keep their input).
func FuzzKinds(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"metadata":[],"spec":{}}`, `{"metadata":{"annotations":{"a":1}},"spec":7}`,
		`{"spec":{"providers":{"inference":[{"id":"a","provider":"vllm","endpoint":"http://a:1","settings":{"a":{"b":[1,2.5]}}}]},"storage":{"kv":{"type":"redis","password":1}}}}`,
		`{"spec":{"workload":{"storage":{}},"networking":{"expose":{"enabled":true},"allowedFrom":{"namespaces":["*",{}],"labels":[1]}}}}`,
		`{"spec":{"providers":{"inference":{"remote":{"custom":[7,{"id":1,"type":"::"},{"type":"a::b","settings":{"url":1}}],"vllm":[{"endpoint":{}},[]]},"inline":{"custom":{}}}}}}`,
		`{"spec":{"network":{"policy":{"ingress":[{"from":[{"namespaceSelector":{"matchExpressions":[{"key":1,"operator":"Exists"}]}}]}]},"externalAccess":[]},"overrideConfig":{"key":"config.yaml","name":1}}}`,
		`{"spec":{"workload":{"storage":[],"overrides":[]},"storage":{"kv":[],"sql":{"connectionString":{"name":{}}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var object map[string]any
		if err := utiljson.Unmarshal(text, &object); err != nil { // whole numbers, as the plugin reads files
			return
		}
		for name, convert := range map[string]func(map[string]any) (map[string]any, []Finding){"from": from, "to": to} {
			before, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			made, losses := convert(object)
			if _, err := json.Marshal(made); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, loss := range losses {
				if loss.Path == "" || loss.Detail == "" || loss.Fix == "" {
					t.Errorf("%s: a loss without a path, reason or remedy: %+v", name, loss)
				}
			}
			if found := schema().fields["spec"].validate(nil, made["spec"]); name == "from" && len(found) > 0 && !isRefused(losses) {
				t.Errorf("the API server refuses %v: %v", made, found)
			}
			if after, _ := json.Marshal(object); !bytes.Equal(after, before) {
				t.Errorf("%s changes its input to %s", name, after)
			}
		}
	})
}

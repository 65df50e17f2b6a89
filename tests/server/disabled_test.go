// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// linesOfPairs are the release lines on which APIs are also disabled in pairs.
var linesOfPairs = []string{pinnedOf07.Line, catalog.Newest()}

// The server loads the starter base without each API, and on some release lines without each pair of APIs.
//
// Proves: FR-009, FR-043, R12, R13, R25, R38.
func TestDisabledAPIs(t *testing.T) {
	t.Parallel()
	forEachRelease(t, func(t *testing.T, r release) {
		if !r.newest {
			return
		}
		lists := disabledLists(t, r)
		dir, args := t.TempDir(), []string{"--libyaml"}
		for i, disabled := range lists {
			file := filepath.Join(dir, fmt.Sprintf("%03d.yaml", i))
			framework.WriteFile(t, file, generateDisabled(t, r, disabled))
			args = append(args, file)
		}
		verdicts := validate(t, r, args...)
		if len(verdicts) != len(lists) {
			t.Fatalf("%d verdicts about %d configs", len(verdicts), len(lists))
		}
		for i, v := range verdicts {
			for _, f := range v.Findings {
				t.Errorf("line %s, disabled %v: %s", r.line, lists[i], f)
			}
			for _, provider := range v.Providers {
				if api, _, _ := strings.Cut(provider, "/"); slices.Contains(lists[i], api) {
					t.Errorf("line %s, disabled %v: there is still the provider %s", r.line, lists[i], provider)
				}
			}
		}
		t.Logf("%d combinations of disabled APIs of release %s validated", len(lists), r.version)
	})
}

func disabledLists(t *testing.T, r release) [][]string {
	t.Helper()
	apis := lineOf(t, r).APINames()
	var lists [][]string
	for i, api := range apis {
		lists = append(lists, []string{api})
		if slices.Contains(linesOfPairs, r.line) {
			for _, other := range apis[i+1:] {
				lists = append(lists, []string{api, other})
			}
		}
	}
	return lists
}

func generateDisabled(t *testing.T, r release, disabled []string) []byte {
	t.Helper()
	data, ok := distributions.Base("starter", r.line)
	if !ok {
		t.Fatalf("no starter base for line %s", r.line)
	}
	base, err := serverconfig.ParseBase("starter", data)
	framework.NoError(t, err)
	result, findings := serverconfig.Generate(t.Context(), serverconfig.Input{
		Name: "n", Namespace: "ns", Base: base, Line: lineOf(t, r), Spec: parse.Parse(&v1alpha2.LlamaStackDistributionSpec{Disabled: disabled}),
	})
	if result == nil {
		t.Fatalf("line %s, disabled %v: %v", r.line, disabled, findings)
	}
	return result.YAML
}

// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/leaves"
)

// The table of tiers lists exactly the fields that need a configuration.
//
// Proves: R45.
func TestTierTableListsFieldsThatRequireConfiguration(t *testing.T) {
	text := framework.ReadFile(t, "../../docs/configuration.md")
	row := regexp.MustCompile(`(?m)^\| 2 \| ([^|]*)\|`).FindSubmatch(text)
	if row == nil {
		t.Fatal("docs/configuration.md has no row of tier 2")
	}
	named := map[string]bool{}
	for _, field := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(row[1], -1) {
		named[string(field[1])] = true
	}
	sections := slices.Collect(maps.Keys(named))
	line, ok := catalog.Get("0.7") // needs no configuration by itself, unlike those from 1.2 on
	if !ok || line.NeedsInsecure {
		t.Fatalf("release line 0.7: %v", ok)
	}
	for field, spec := range map[string]string{
		"providers":               `providers: {inference: {provider: vllm}}`,
		"resources":               `resources: {models: [a]}`,
		"storage":                 `storage: {kv: {type: sqlite}}`,
		"disabled":                `disabled: [safety]`,
		"auth":                    `auth: {provider: kubernetes}`,
		"workload.workers":        `workload: {workers: 1}`,
		"workload.replicas":       `workload: {replicas: 2}`,
		"workload.storage":        `workload: {storage: {}}`,
		"workload.resources":      `workload: {resources: {requests: {cpu: 1}}}`,
		"workload.overrides":      `workload: {overrides: {env: [{name: A, value: b}]}}`,
		"networking.port":         `networking: {port: 9000}`,
		"networking.expose":       `networking: {expose: true}`,
		"networking.allowedFrom":  `networking: {allowedFrom: {namespaces: [a]}}`,
		"networking.tls.enabled":  `networking: {tls: {enabled: true, secretName: a}}`,
		"networking.tls.caBundle": `networking: {tls: {caBundle: {configMapName: a}}}`,
		"overrideConfig":          `overrideConfig: {configMapName: a}`,
	} {
		var s v1alpha2.LlamaStackDistributionSpec
		if err := yaml.UnmarshalStrict([]byte(spec), &s); err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		if got := serverconfig.Needed(&s, line); got != named[field] {
			t.Errorf("%s: a configuration is needed: %v; the table names it: %v", field, got, named[field])
		}
		delete(named, field)
	}
	delete(named, "distribution")
	if len(named) > 0 {
		t.Errorf("the table names %v, which this test does not know", named)
	}
	for path, set := range leaves.All(t) {
		var s v1alpha2.LlamaStackDistributionSpec
		set(&s)
		within := func(section string) bool { return strings.HasPrefix(path, "spec."+section) }
		if serverconfig.Needed(&s, line) && !slices.ContainsFunc(sections, within) && !within("externalProviders") { // which only fails
			t.Errorf("%s makes a configuration necessary, and the table does not name it", path)
		}
	}
}

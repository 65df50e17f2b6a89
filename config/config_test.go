// SPDX-License-Identifier: Apache-2.0

// Package config tests the manifests.
package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// TestCRDSize keeps the CRD well below the 262,144 bytes that client-side "kubectl apply" can store.
//
// Proves: L-32, R59
func TestCRDSize(t *testing.T) {
	const limit = 150_000
	compact, err := yaml.YAMLToJSON(read(t, "crd/bases/llamastack.io_llamastackdistributions.yaml"))
	framework.NoError(t, err)
	t.Logf("compact JSON: %d bytes", len(compact))
	if len(compact) >= limit {
		t.Errorf("the CRD is %d bytes of compact JSON, want less than %d", len(compact), limit)
	}
}

// TestCRDDescriptions checks that the API's own fields have descriptions and embedded core types do not.
//
// Proves: R59
func TestCRDDescriptions(t *testing.T) {
	var definition apiextensionsv1.CustomResourceDefinition
	decode(t, "crd/bases/llamastack.io_llamastackdistributions.yaml", &definition)
	embedded := []string{"resources", "env", "volumes", "volumeMounts", "topologySpreadConstraints"}
	for _, version := range definition.Spec.Versions {
		workload := version.Schema.OpenAPIV3Schema.Properties["spec"].Properties["workload"]
		if version.Name != v1alpha2.GroupVersion.Version {
			continue
		}
		for _, fields := range []map[string]apiextensionsv1.JSONSchemaProps{
			workload.Properties, workload.Properties["overrides"].Properties,
		} {
			for name, field := range fields {
				if field.Description == "" {
					t.Errorf("%s: spec.workload…%s has no description", version.Name, name)
				}
				field.Description = ""
				if text, err := json.Marshal(field); err != nil {
					t.Error(err)
				} else if slices.Contains(embedded, name) && strings.Contains(string(text), `"description":`) {
					t.Errorf("%s: spec.workload…%s describes the fields of a core type", version.Name, name)
				}
			}
		}
		return
	}
	t.Errorf("the CRD does not have version %s", v1alpha2.GroupVersion.Version)
}

// TestRoles checks that no role has wildcards or verbs that permit privilege escalation.
//
// Proves: L-18, L-19
func TestRoles(t *testing.T) {
	rules := 0
	for _, path := range glob(t, "rbac/*role.yaml") {
		for document := range strings.SplitSeq(string(read(t, path)), "\n---\n") {
			var role rbacv1.ClusterRole // a Role has the same rules
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			for _, rule := range role.Rules {
				rules++
				for _, word := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups, rule.NonResourceURLs) {
					if slices.Contains([]string{"*", "bind", "escalate", "impersonate", "use", "pods/exec"}, word) {
						t.Errorf("%s: role %s has %q", path, role.Name, word)
					}
				}
			}
		}
	}
	if rules == 0 {
		t.Error("found no rules to check")
	}
}

// TestManagerSelector pins the selector, which is immutable and must match the Deployment of release 0.9.
//
// Proves: R21, L-06
func TestManagerSelector(t *testing.T) {
	var manager appsv1.Deployment
	decode(t, "manager/manager.yaml", &manager)
	want := map[string]string{"app.kubernetes.io/name": "llama-stack-k8s-operator", "control-plane": "controller-manager"}
	got := manager.Spec.Selector.MatchLabels
	if len(got) != len(want) {
		t.Errorf("selector %v, want %v", got, want)
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("selector has %s=%q, want %q", key, got[key], value)
		}
		if label := manager.Spec.Template.Labels[key]; label != value {
			t.Errorf("the pods have %s=%q, want %q", key, label, value)
		}
	}
}

func TestSamples(t *testing.T) {
	for _, path := range glob(t, "samples/v1alpha2-*.yaml") {
		var sample v1alpha2.LlamaStackDistribution
		decode(t, path, &sample)
		if got, want := sample.GroupVersionKind(), v1alpha2.GroupVersion.WithKind(v1alpha2.Kind); got != want {
			t.Errorf("%s is a %s, want a %s", path, got, want)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	framework.NoError(t, err)
	return content
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.FromSlash(pattern))
	framework.NoError(t, err)
	if len(paths) == 0 {
		t.Fatalf("nothing matches %s", pattern)
	}
	return paths
}

// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: R21, L-06 (a change would orphan or replace objects of running servers, and selectors are immutable; fix the
// code, not the table).
func TestFrozenNames(t *testing.T) {
	p := simple(t)
	deployment, service := objects.Deployment(p), objects.Service(p)
	container := server(t, p)
	for what, pair := range map[string][2]string{
		"Deployment":              {"my-stack", deployment.Name},
		"Service":                 {"my-stack-service", service.Name},
		"ServiceAccount":          {"my-stack-sa", objects.ServiceAccount(p).Name},
		"ServiceAccount of pods":  {"my-stack-sa", pod(p).ServiceAccountName},
		"container":               {"llama-stack", container.Name},
		"container port":          {"http", container.Ports[0].Name},
		"Service port":            {"http", service.Spec.Ports[0].Name},
		"configuration key":       {"config.yaml", names.ConfigKey},
		"configuration directory": {"/etc/llama-stack", names.ConfigDir},
		"data directory":          {"/.llama", v1alpha2.DefaultMountPath},
		"CA bundle":               {"/etc/ssl/certs/ca-bundle/ca-bundle.crt", names.CABundlePath},
		"hash of a configuration": {"my-stack-config-4c38923eaf", names.ConfigMapName("my-stack", []byte(configYAML))},
		"field manager":           {"llama-stack-operator", names.ManagedBy},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, and always was %q", what, pair[1], pair[0])
		}
	}
	selector := map[string]string{"app": "llama-stack", "app.kubernetes.io/instance": "my-stack"}
	for what, got := range map[string]map[string]string{
		"Deployment": deployment.Spec.Selector.MatchLabels, "Service": service.Spec.Selector, "Selector": names.Selector("my-stack"),
	} {
		if diff := cmp.Diff(selector, got); diff != "" {
			t.Errorf("selector of %s (-always +now):\n%s", what, diff)
		}
	}
	if len(deployment.Spec.Selector.MatchExpressions) != 0 {
		t.Error("the selector of the Deployment has expressions")
	}
	for key, value := range selector {
		if deployment.Spec.Template.Labels[key] != value {
			t.Errorf("the selector does not select the pods: %s is %q", key, deployment.Spec.Template.Labels[key])
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const allDefaults = `
scheduling:
  nodeSelector: {pool: a}
  tolerations: [{key: a, operator: Exists}]
  affinity: {podAntiAffinity: {}}
  priorityClassName: a
  runtimeClassName: a
imagePullSecrets: [{name: a}]
podMetadata: {labels: {a: a}, annotations: {a: a}}
resourceClaims: [{name: a, resourceClaimName: a}]
terminationGracePeriodSeconds: 1
overrides: {envFrom: [{secretRef: {name: a}}]}
`

// Proves: R72.
func TestPodDefaultsAreReplacedFieldByField(t *testing.T) {
	s, err := Parse(map[string]string{KeyPodDefaults: allDefaults})
	framework.NoError(t, err)
	workload := func(text string) *v1alpha2.WorkloadSpec {
		w := &v1alpha2.WorkloadSpec{}
		if err := yaml.UnmarshalStrict([]byte(text), w); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return w
	}
	all := workload(allDefaults)
	if diff := cmp.Diff(all, s.PodDefaults.Complete(nil)); diff != "" {
		t.Errorf("without a workload (-want +got):\n%s", diff)
	}
	for own, replace := range map[string]func(w, own *v1alpha2.WorkloadSpec){
		"scheduling: {nodeSelector: {b: b}}":    func(w, own *v1alpha2.WorkloadSpec) { w.Scheduling.NodeSelector = own.Scheduling.NodeSelector },
		"scheduling: {tolerations: [{key: b}]}": func(w, own *v1alpha2.WorkloadSpec) { w.Scheduling.Tolerations = own.Scheduling.Tolerations },
		"scheduling: {affinity: {}}":            func(w, own *v1alpha2.WorkloadSpec) { w.Scheduling.Affinity = own.Scheduling.Affinity },
		"scheduling: {priorityClassName: ''}":   func(w, own *v1alpha2.WorkloadSpec) { w.Scheduling.PriorityClassName = own.Scheduling.PriorityClassName },
		"scheduling: {runtimeClassName: b}":     func(w, own *v1alpha2.WorkloadSpec) { w.Scheduling.RuntimeClassName = own.Scheduling.RuntimeClassName },
		"imagePullSecrets: [{name: b}]":         func(w, own *v1alpha2.WorkloadSpec) { w.ImagePullSecrets = own.ImagePullSecrets },
		"podMetadata: {labels: {b: b}}":         func(w, own *v1alpha2.WorkloadSpec) { w.PodMetadata.Labels = own.PodMetadata.Labels },
		"podMetadata: {annotations: {b: b}}":    func(w, own *v1alpha2.WorkloadSpec) { w.PodMetadata.Annotations = own.PodMetadata.Annotations },
		"resourceClaims: [{name: b}]":           func(w, own *v1alpha2.WorkloadSpec) { w.ResourceClaims = own.ResourceClaims },
		"terminationGracePeriodSeconds: 0": func(w, own *v1alpha2.WorkloadSpec) {
			w.TerminationGracePeriodSeconds = own.TerminationGracePeriodSeconds
		},
		"overrides: {envFrom: [{configMapRef: {name: b}}]}": func(w, own *v1alpha2.WorkloadSpec) { w.Overrides.EnvFrom = own.Overrides.EnvFrom },
		"overrides: {args: [b]}":                            func(w, own *v1alpha2.WorkloadSpec) { w.Overrides.Args = own.Overrides.Args },
		"replicas: 3":                                       func(w, own *v1alpha2.WorkloadSpec) { w.Replicas = own.Replicas },
		"{scheduling: {tolerations: []}, podMetadata: {labels: {}}, imagePullSecrets: [], overrides: {envFrom: []}}": func(_, _ *v1alpha2.WorkloadSpec) {},
	} {
		given, want := workload(own), workload(allDefaults)
		replace(want, given)
		if diff := cmp.Diff(want, s.PodDefaults.Complete(given)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", own, diff)
		}
		if diff := cmp.Diff(workload(own), given); diff != "" {
			t.Errorf("%s: the custom resource is changed (-before +after):\n%s", own, diff)
		}
	}
	w := &v1alpha2.WorkloadSpec{}
	if (*PodDefaults)(nil).Complete(w) != w || (*PodDefaults)(nil).Complete(nil) != nil {
		t.Error("without defaults, the workload is another one")
	}
}

// Proves: R72 (the defaults are validated like the fields of a custom resource, and the error names the field).
func TestParseRejectsInvalidPodDefaults(t *testing.T) {
	for text, want := range map[string]string{
		"replicas: 3":                           "replicas: unknown field: known fields: imagePullSecrets, ",
		"[]":                                    "not a YAML map with fields of spec.workload",
		"scheduling: {priorityClassName: High}": `podDefaults.scheduling.priorityClassName: Invalid value: "High"`,
		"imagePullSecrets: [{name: a/b}]":       `podDefaults.imagePullSecrets[0].name: Invalid value: "a/b"`,
		"podMetadata: {labels: {app: mine}}":    "podDefaults.podMetadata.labels[app]: Forbidden: the label app is reserved for the operator",
		"overrides: {envFrom: [{secretRef: {name: a/b}}]}": `podDefaults.overrides.envFrom[0].secretRef.name: Invalid value: "a/b"`,
		"overrides: {args: [a]}":                           "overrides.args: unknown field: known fields: envFrom",
	} {
		if _, err := Parse(map[string]string{KeyPodDefaults: text}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ConfigMapName) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"", "{}", "null"} {
		if s, err := Parse(map[string]string{KeyPodDefaults: text}); err != nil || s.PodDefaults.Complete(nil) != nil && text != "{}" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Proves: R72, R62.
func TestSampleOfTheSettingsIsValid(t *testing.T) {
	raw := framework.ReadFile(t, "../../config/samples/settings/operator-settings.yaml")
	var cm corev1.ConfigMap
	framework.NoError(t, yaml.UnmarshalStrict(raw, &cm))
	s, err := Parse(cm.Data)
	if err != nil || s.Edge.Err != nil || cm.Name != ConfigMapName || cm.Namespace != DefaultNamespace || s.PodDefaults == nil || s.Edge.Domain == "" {
		t.Errorf("%v, %+v", err, s)
	}
	for key := range cm.Data {
		if !slices.Contains(Keys(), key) {
			t.Errorf("there is no key %s", key)
		}
	}
}

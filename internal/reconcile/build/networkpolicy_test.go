// SPDX-License-Identifier: Apache-2.0

package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Proves: R61, R41 (the error has a field and a fix; without a NetworkPolicy, as for v1alpha1 without the flag, the
// value does not matter).
func TestAllowedFromIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		"labels: ['team=frontend']":                          `spec.networking.allowedFrom.labels[0]: Invalid value: "team=frontend": is not a valid label key: write team: namespaces with the label are allowed`,
		"labels: [ok, '-x']":                                 `spec.networking.allowedFrom.labels[1]: Invalid value: "-x": is not a valid label key: set only the key, such as team or example.com/team`,
		"labels: ['a b=c']":                                  `spec.networking.allowedFrom.labels[0]: Invalid value: "a b=c": is not a valid label key: set only the key`,
		"labels: [example.com/team, team, '']":               "",
		"namespaces: [ok, Big]":                              `spec.networking.allowedFrom.namespaces[1]: Invalid value: "Big": is not a valid namespace name`,
		"namespaces: ['a.b']":                                `spec.networking.allowedFrom.namespaces[0]: Invalid value: "a.b"`,
		"namespaces: ['a,b', '*']":                           `spec.networking.allowedFrom.namespaces[0]: Invalid value: "a,b"`,
		"namespaces: [a, '', '*']":                           "",
		"pods: {matchLabels: {'-x': y}}":                     `spec.networking.allowedFrom.pods.matchLabels: Invalid value: "-x"`,
		"pods: {matchExpressions: [{key: a, operator: Is}]}": `spec.networking.allowedFrom.pods.matchExpressions[0].operator: Invalid value: "Is"`,
	} {
		t.Run(text, func(t *testing.T) {
			d, faults := buildWith(t.Context(), inputsOf(t, "distribution: {name: starter}\nnetworking: {allowedFrom: {"+text+"}}", ""))
			if got := faults.Message(); (want == "") != (got == "") || !strings.HasPrefix(got, want) || want != "" && !faults.Has(problem.Terminal) {
				t.Errorf("faults %q, want %q", got, want)
			}
			empty := strings.Contains(text, "''")
			if got := d.Warnings.Message(); empty != strings.Contains(got, "]: is empty, and allows no namespace") {
				t.Errorf("warnings %q", got)
			}
			if want != "" && len(d.Objects) > 0 {
				t.Error("something is built")
			}
			if strings.HasPrefix(text, "pods") {
				return // v1alpha1 does not have the field
			}
			old := inputsOf(t, "distribution: {name: starter}\nnetworking: {allowedFrom: {"+text+"}}", fromV1alpha1)
			if _, faults := buildWith(t.Context(), old); len(faults) > 0 {
				t.Errorf("without the feature flag: %s", faults.Message())
			}
			old.NetworkPolicyFlag = new(true)
			if _, faults := buildWith(t.Context(), old); !strings.HasPrefix(faults.Message(), want) || want != "" && len(faults) == 0 {
				t.Errorf("with the feature flag: %q", faults.Message())
			}
		})
	}
}

// Proves: R41, R61 (a policy that allows all clients or names the cluster's router needs no warning).
func TestAllowedFromWarnsOfTheIngressController(t *testing.T) {
	for name, c := range map[string]struct {
		networking      string
		flag, openShift bool
		want            bool
	}{
		"some namespaces":             {networking: "expose: true, allowedFrom: {namespaces: [a]}", want: true},
		"all namespaces":              {networking: "expose: true, allowedFrom: {namespaces: [a, '*']}"},
		"all namespaces and the flag": {networking: "expose: true, allowedFrom: {namespaces: ['*']}", flag: true},
		"the flag alone":              {networking: "expose: true", flag: true, want: true},
		"both":                        {networking: "expose: true, allowedFrom: {namespaces: [a]}", flag: true, want: true},
		"not exposed":                 {networking: "allowedFrom: {namespaces: [a]}", flag: true},
		"no policy":                   {networking: "expose: true"},
		"exclusive":                   {networking: "expose: true, allowedFrom: {exclusive: true, namespaces: [a]}", openShift: true, want: true},
		"exclusive with the router":   {networking: "expose: true, allowedFrom: {exclusive: true, labels: [network.openshift.io/policy-group]}"},
		"exclusive, not exposed":      {networking: "allowedFrom: {exclusive: true, namespaces: [a]}"},
		"OpenShift":                   {networking: "expose: true, allowedFrom: {namespaces: [a]}", flag: true, openShift: true},
	} {
		in := inputsOf(t, "distribution: {name: starter}\nnetworking: {"+c.networking+"}", "")
		in.NetworkPolicyFlag, in.ClusterAssignsUserIDs = &c.flag, c.openShift
		d := build(t, in)
		warned := slices.ContainsFunc(d.Warnings, func(p problem.Problem) bool {
			return strings.HasPrefix(p.Path, PathAllowedFrom) && strings.Contains(p.Detail+p.Fix, "ingress controller")
		})
		if warned != c.want {
			t.Errorf("%s: warned %v: %v", name, warned, d.Warnings)
		}
	}
}

// Proves: R61 (objects that protect the pods come before them, and objects that lead to the pods after them).
func TestObjectsAreInTheOrderOfWriting(t *testing.T) {
	in := inputsOf(t, `
distribution: {name: starter}
disabled: [eval]
networking: {expose: true, allowedFrom: {namespaces: [a]}}
workload: {replicas: 2, storage: {}, autoscaling: {maxReplicas: 3}}`, "")
	var kinds []string
	for _, o := range build(t, in).Objects {
		kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
	}
	want := []string{
		"ServiceAccount", "ConfigMap", "PersistentVolumeClaim", "NetworkPolicy", "PodDisruptionBudget", "Deployment", "HorizontalPodAutoscaler",
		"Service", "Ingress",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the order is %v, want %v", kinds, want)
	}
}

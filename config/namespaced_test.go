// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// clusterOnly maps "group resource verb" to its cluster-wide feature. The verb "*" stands for all verbs.
var clusterOnly = map[string]string{
	"apiextensions.k8s.io customresourcedefinitions *":               "conversion and migration",
	"apiextensions.k8s.io customresourcedefinitions/status *":        "migration",
	"admissionregistration.k8s.io validatingwebhookconfigurations *": "validation by the webhook",
	"llamastack.io llamastackdistributions patch":                    "migration",
	"rbac.authorization.k8s.io clusterrolebindings *":                "what release 0.9 left",
	"rbac.authorization.k8s.io clusterroles *":                       "what release 0.9 left",
	"config.openshift.io apiservers *":                               "TLS profile of the cluster",
	"config.openshift.io imagedigestmirrorsets *":                    "mirrors of the cluster",
	"config.openshift.io imagetagmirrorsets *":                       "mirrors of the cluster",
	"operator.openshift.io imagecontentsourcepolicies *":             "mirrors of the cluster",
	"authentication.k8s.io tokenreviews *":                           "metrics",
	"authorization.k8s.io subjectaccessreviews *":                    "metrics",
}

// TestNamespacedRole checks that the Role of a watched namespace equals the ClusterRole without clusterOnly.
//
// Proves: L-34, L-19
func TestNamespacedRole(t *testing.T) {
	var cluster rbacv1.ClusterRole
	var watched rbacv1.Role
	decode(t, "rbac/role.yaml", &cluster)
	decode(t, "overlays/namespaced/watched/role.yaml", &watched)
	if watched.Kind != "Role" || watched.Namespace != "" {
		t.Errorf("it is a %s in the namespace %q", watched.Kind, watched.Namespace)
	}
	want := slices.DeleteFunc(permissions(cluster.Rules), func(p string) bool {
		group, rest, _ := strings.Cut(p, " ")
		resource, _, _ := strings.Cut(rest, " ")
		return clusterOnly[p] != "" || clusterOnly[group+" "+resource+" *"] != ""
	})
	if diff := cmp.Diff(want, permissions(watched.Rules)); diff != "" {
		t.Errorf("(-ClusterRole without what is about the cluster, +Role of a watched namespace):\n%s", diff)
	}
}

// TestNamespacedDepthPolicy checks that the policy rejects exactly the objects that the depth webhook matches.
//
// Proves: R63, L-34
func TestNamespacedDepthPolicy(t *testing.T) {
	var policy admissionv1.ValidatingAdmissionPolicy
	var webhooks admissionv1.ValidatingWebhookConfiguration
	decode(t, "overlays/namespaced/admin/depth/policy.yaml", &policy)
	decode(t, "webhook/validation.yaml", &webhooks)
	conditions := webhooks.Webhooks[1].MatchConditions
	if len(policy.Spec.Validations) != 1 || len(conditions) != 2 || *policy.Spec.FailurePolicy != admissionv1.Fail {
		t.Fatalf("%d validations, %d conditions", len(policy.Spec.Validations), len(conditions))
	}
	lines := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if diff := cmp.Diff(lines("!( "+conditions[1].Expression+" )"), lines(policy.Spec.Validations[0].Expression)); diff != "" {
		t.Errorf("(-webhook, +policy):\n%s", diff)
	}
	if diff := cmp.Diff(conditions[:1], policy.Spec.MatchConditions); diff != "" {
		t.Errorf("(-webhook, +policy):\n%s", diff)
	}
}

// permissions returns the rules as sorted "group resource verb" strings.
func permissions(rules []rbacv1.PolicyRule) []string {
	var list []string
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					list = append(list, group+" "+resource+" "+verb)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: R104, FR-066 (pods narrows what is allowed, and exclusive leaves only that and the operator).
func TestNetworkPolicyOfPods(t *testing.T) {
	const exposed = ", expose: true}"
	agents := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}
	label := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	type peers = []networkingv1.NetworkPolicyPeer
	operator := networkingv1.NetworkPolicyPeer{NamespaceSelector: label("kubernetes.io/metadata.name", "operator")}
	router := networkingv1.NetworkPolicyPeer{NamespaceSelector: label("network.openshift.io/policy-group", "ingress")}
	agentsOfA := networkingv1.NetworkPolicyPeer{NamespaceSelector: label("kubernetes.io/metadata.name", "a"), PodSelector: agents}
	for text, want := range map[string]peers{
		"pods: {matchLabels: {app: agent}}":                                   {{PodSelector: agents}, operator, router},
		"pods: {matchLabels: {app: agent}}, exclusive: true":                  {{PodSelector: agents}, operator},
		"pods: {matchLabels: {app: agent}}, namespaces: [a]":                  {{PodSelector: agents}, operator, agentsOfA, router},
		"pods: {matchLabels: {app: agent}}, namespaces: ['*']":                {{PodSelector: agents}, operator, {NamespaceSelector: &metav1.LabelSelector{}, PodSelector: agents}, router},
		"namespaces: [a], exclusive: true":                                    {operator, {NamespaceSelector: label("kubernetes.io/metadata.name", "a")}},
		"exclusive: true":                                                     {operator},
		"pods: {}":                                                            {{PodSelector: &metav1.LabelSelector{}}, operator, router},
		"pods: {matchLabels: {app: agent}}, namespaces: [a], exclusive: true": {operator, agentsOfA},
	} {
		n := objects.NetworkPolicy(workload(t, "networking: {allowedFrom: {"+text+"}"+exposed))
		if diff := cmp.Diff(want, n.Spec.Ingress[0].From); diff != "" {
			t.Errorf("%s: peers (-want +got):\n%s", text, diff)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// AllNamespaces in allowedFrom means every namespace.
const AllNamespaces = "*"

// routerLabel with the value "ingress" marks the namespaces of OpenShift's router.
const routerLabel = "network.openshift.io/policy-group"

// metricsLabel with the value "enabled" marks the namespaces that may read metrics of the operator and the servers.
const metricsLabel = "metrics"

// AllowedFrom returns the spec's allowedFrom, or nil if it is empty.
func AllowedFrom(spec *v1alpha2.LlamaStackDistributionSpec) *v1alpha2.AllowedFromSpec {
	if spec.Networking == nil || spec.Networking.AllowedFrom == nil {
		return nil
	}
	a := spec.Networking.AllowedFrom
	if len(a.Namespaces)+len(a.Labels) > 0 || a.Pods != nil || ptr.Deref(a.Exclusive, false) {
		return a
	}
	return nil
}

// AllowsAll reports whether all pods of the cluster have access.
func AllowsAll(a *v1alpha2.AllowedFromSpec) bool {
	return a != nil && a.Pods == nil && slices.Contains(a.Namespaces, AllNamespaces)
}

// AllowsEdge reports whether the spec itself allows a namespace that routes to exposed servers.
func AllowsEdge(a *v1alpha2.AllowedFromSpec, edge *settings.Edge) bool {
	return slices.Contains(a.Labels, routerLabel) || slices.ContainsFunc(routingNamespaces(edge), func(name string) bool {
		return slices.Contains(a.Namespaces, name)
	})
}

// NetworkPolicy returns the policy, or nil if it is not desired. It always admits the namespace of the operator, and
// unless it is exclusive those of the resource and those that route to an exposed server.
func NetworkPolicy(p *Params) *networkingv1.NetworkPolicy {
	if !p.NetworkPolicy && len(p.Egress) == 0 {
		return nil
	}
	policy := &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: objectMeta(p.CR, names.NetworkPolicyName(p.CR.Name)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: names.Selector(p.CR.Name)},
			Egress:      p.Egress,
		},
	}
	if p.NetworkPolicy {
		policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		policy.Spec.Ingress = ingressRules(p)
	}
	if len(p.Egress) > 0 {
		policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
	return policy
}

func ingressRules(p *Params) []networkingv1.NetworkPolicyIngressRule {
	rules := []networkingv1.NetworkPolicyIngressRule{{From: peers(p), Ports: policyPort(Port(&p.CR.Spec))}}
	if port := p.MetricsPort; port != 0 {
		rules = append(rules, networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{metricsLabel: "enabled"}},
			}},
			Ports: policyPort(port),
		})
	}
	return rules
}

func policyPort(port int32) []networkingv1.NetworkPolicyPort {
	return []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: new(intstr.FromInt32(port))}}
}

func peers(p *Params) []networkingv1.NetworkPolicyPeer {
	allowed := ptr.Deref(AllowedFrom(&p.CR.Spec), v1alpha2.AllowedFromSpec{})
	exclusive := ptr.Deref(allowed.Exclusive, false)
	var list []networkingv1.NetworkPolicyPeer
	if !exclusive || allowed.Pods != nil && len(allowed.Namespaces)+len(allowed.Labels) == 0 {
		list = append(list, networkingv1.NetworkPolicyPeer{PodSelector: cmp.Or(allowed.Pods, &metav1.LabelSelector{})})
	}
	add := func(namespaces, pods *metav1.LabelSelector) {
		list = append(list, networkingv1.NetworkPolicyPeer{NamespaceSelector: namespaces, PodSelector: pods})
	}
	if p.OperatorNamespace != "" {
		add(named(p.OperatorNamespace), nil)
	}
	if slices.Contains(allowed.Namespaces, AllNamespaces) {
		add(&metav1.LabelSelector{}, allowed.Pods)
		if allowed.Pods == nil {
			return list
		}
	} else {
		for _, name := range unique(allowed.Namespaces) {
			add(named(name), allowed.Pods)
		}
		for _, key := range unique(allowed.Labels) {
			add(&metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}},
			}, allowed.Pods)
		}
	}
	if exclusive {
		return list
	}
	if p.Expose.Enabled {
		for _, name := range routingNamespaces(&p.Edge) {
			if allowed.Pods != nil || !slices.Contains(allowed.Namespaces, name) {
				add(named(name), nil)
			}
		}
	}
	if p.Expose.Enabled || routerOfRelease09(p) {
		add(&metav1.LabelSelector{MatchLabels: map[string]string{routerLabel: "ingress"}}, nil)
	}
	return list
}

// mostCallerNamespaces is the number of namespaces whose pods are looked for one by one.
const mostCallerNamespaces = 10

// CallerNamespaces returns the namespaces of the pods that the spec selects as callers, or none without a selector. It
// returns all namespaces (metav1.NamespaceAll) if it does not know the namespaces, or if there are many: a selected pod
// is then in one of them, if there is one at all.
func CallerNamespaces(cr *v1alpha2.LlamaStackDistribution) []string {
	allowed := AllowedFrom(&cr.Spec)
	switch {
	case allowed == nil || allowed.Pods == nil:
		return nil
	case len(allowed.Labels) > 0, slices.Contains(allowed.Namespaces, AllNamespaces):
		return []string{metav1.NamespaceAll}
	}
	list := slices.Clone(allowed.Namespaces)
	if !ptr.Deref(allowed.Exclusive, false) || len(allowed.Namespaces) == 0 {
		list = append(list, cr.Namespace)
	}
	if list = unique(list); len(list) > mostCallerNamespaces {
		return []string{metav1.NamespaceAll}
	}
	return list
}

// named selects a namespace by its name.
func named(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}

// routingNamespaces returns the namespaces that route to exposed servers: the settings', and the Gateway's.
func routingNamespaces(edge *settings.Edge) []string {
	namespaces := edge.Namespaces
	if edge.Kind == settings.EdgeHTTPRoute && edge.Gateway != nil {
		namespaces = slices.Concat([]string{edge.Gateway.Namespace}, namespaces)
	}
	return unique(namespaces)
}

// routerOfRelease09 reports whether release 0.9 admits the router to an unexposed server, as a user's Route may need.
func routerOfRelease09(p *Params) bool {
	n := p.CR.Spec.Networking
	return p.Legacy.FromV1alpha1 && n != nil && (n.Expose != nil || n.AllowedFrom != nil)
}

func unique(list []string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

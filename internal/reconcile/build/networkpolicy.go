// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// PathAllowedFrom is the field that requests a NetworkPolicy.
const PathAllowedFrom = "spec.networking.allowedFrom"

// IgnoresAllowedFrom reports whether allowedFrom has no effect, as in release 0.9 without the feature flag.
func (in *Inputs) IgnoresAllowedFrom() bool {
	return objects.AllowedFrom(&in.CR.Spec) != nil && in.Legacy.FromV1alpha1 && !in.Legacy.AllowedFromV1alpha2 &&
		!ptr.Deref(in.NetworkPolicyFlag, false)
}

// networkPolicy reports whether a NetworkPolicy is desired. In v1alpha1 that also needs release 0.9's feature flag.
func (d *Desired) networkPolicy(in *Inputs) bool {
	requested := objects.AllowedFrom(&in.CR.Spec)
	switch {
	case requested == nil && !ptr.Deref(in.NetworkPolicyFlag, false):
		return false
	case in.IgnoresAllowedFrom():
		d.problems.warn(problem.NoEffect, PathAllowedFrom,
			"has no effect: it was written in v1alpha1, which needs the feature flag enableNetworkPolicy, and that is off: "+
				"everyone in the cluster can reach the server", fmt.Sprintf("set %s in the ConfigMap %s, or write the field "+
				"in v1alpha2 (kubectl apply --server-side)", settings.KeyFeatureFlags, settings.ConfigMapName))
		return false
	}
	edge := in.edge()
	switch {
	case objects.AllowsAll(requested) || !in.Spec.Expose.Enabled:
	case requested != nil && ptr.Deref(requested.Exclusive, false):
		if !objects.AllowsEdge(requested, &edge) {
			d.problems.warn(problem.NoEffect, PathAllowedFrom+".exclusive", "blocks what routes to the exposed server, unless "+
				"its namespace is allowed", "add the namespace of the ingress controller, router or Gateway to "+
				PathAllowedFrom+".namespaces")
		}
	case edge.Kind == settings.EdgeIngress && len(edge.Namespaces) == 0 && !in.ClusterAssignsUserIDs:
		d.problems.warn(problem.NoEffect, PathAllowedFrom, "blocks the ingress controller unless its namespace is allowed",
			fmt.Sprintf("add the namespace of the ingress controller, here or under namespaces in the key %s of the ConfigMap "+
				"%s", settings.KeyEdge,
				settings.ConfigMapName))
	}
	return true
}

// checkAllowedFrom reports fields that the API server would refuse in the NetworkPolicy.
func (r *report) checkAllowedFrom(p *objects.Params) {
	allowed := objects.AllowedFrom(&p.CR.Spec)
	if !p.NetworkPolicy || allowed == nil {
		return
	}
	for i, name := range allowed.Namespaces {
		if name == "" {
			r.warnEmpty(fmt.Sprintf("%s.namespaces[%d]", PathAllowedFrom, i))
		}
		if name == "" || name == objects.AllNamespaces {
			continue
		}
		if problems := apivalidation.ValidateNamespaceName(name, false); len(problems) > 0 {
			r.invalidField(fmt.Sprintf("%s.namespaces[%d]", PathAllowedFrom, i), name,
				"is not a valid namespace name ("+problems[0]+")",
				fmt.Sprintf("set the name of a namespace, or %q for all", objects.AllNamespaces))
		}
	}
	if allowed.Pods != nil {
		at := field.NewPath("spec", "networking", "allowedFrom", "pods")
		options := metav1validation.LabelSelectorValidationOptions{}
		for _, e := range metav1validation.ValidateLabelSelector(allowed.Pods, options, at) {
			r.invalidField(e.Field, e.BadValue, e.Detail, "write it as in Kubernetes")
		}
	}
	for i, key := range allowed.Labels {
		if key == "" {
			r.warnEmpty(fmt.Sprintf("%s.labels[%d]", PathAllowedFrom, i))
			continue
		}
		if errs := metav1validation.ValidateLabelName(key, field.NewPath("")); len(errs) > 0 {
			r.invalidField(fmt.Sprintf("%s.labels[%d]", PathAllowedFrom, i), key, "is not a valid label key", labelAdvice(key))
		}
	}
}

func (r *report) warnEmpty(at string) {
	r.warn(problem.NoEffect, at, "is empty, and allows no namespace", "set a name, or remove it")
}

func labelAdvice(key string) string {
	const existence = "namespaces with the label are allowed, regardless of its value"
	if name, _, found := strings.Cut(key, "="); found && len(metav1validation.ValidateLabelName(name,
		field.NewPath(""))) == 0 {
		return fmt.Sprintf("write %s: %s", name, existence)
	}
	return "set only the key, such as team or example.com/team: " + existence
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// PathAllowedFrom is the field that requests a NetworkPolicy.
const PathAllowedFrom = "spec.networking.allowedFrom"

// networkPolicy reports whether a NetworkPolicy is desired. In v1alpha1 that also needs release 0.9's feature flag.
func (d *Desired) networkPolicy(in *Inputs, legacy *v1alpha2.LegacySettings) bool {
	asked, flag := objects.AllowedFrom(&in.CR.Spec), ptr.Deref(in.NetworkPolicyFlag, false)
	switch {
	case asked == nil && !flag:
		return false
	case legacy.FromV1alpha1 && !flag:
		d.problems.warn(problem.NoEffect, PathAllowedFrom,
			"has no effect: the feature flag enableNetworkPolicy is not on, which a resource that was created in v1alpha1 "+
				"needs: everybody in the cluster may reach the "+
				"server", fmt.Sprintf("set %s in the ConfigMap %s, or write the resource in v1alpha2 and remove the "+
				"annotation %s from it", settings.KeyFeatureFlags, settings.ConfigMapName, v1alpha2.ConversionAnnotation))
		return false
	}
	everybody := asked != nil && slices.Contains(asked.Namespaces, objects.AllNamespaces)
	edge := in.edge()
	if !everybody && in.Spec.Expose.Enabled && edge.Kind == settings.EdgeIngress && len(edge.Namespaces) == 0 &&
		!in.ClusterAssignsUserIDs {
		d.problems.warn(problem.NoEffect, PathAllowedFrom, "keeps the ingress controller out unless its namespace is among "+
			"the allowed ones",
			fmt.Sprintf("name the namespace of the ingress controller, here or under namespaces in the key %s of the "+
				"ConfigMap %s", settings.KeyEdge,
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
				"no namespace can have this name ("+problems[0]+")",
				fmt.Sprintf("write the name of a namespace, or %q for all", objects.AllNamespaces))
		}
	}
	for i, key := range allowed.Labels {
		if key == "" {
			r.warnEmpty(fmt.Sprintf("%s.labels[%d]", PathAllowedFrom, i))
			continue
		}
		if errs := metav1validation.ValidateLabelName(key, field.NewPath("")); len(errs) > 0 {
			r.invalidField(fmt.Sprintf("%s.labels[%d]", PathAllowedFrom, i), key, "no label can have this key", labelAdvice(key))
		}
	}
}

func (r *report) warnEmpty(at string) {
	r.warn(problem.NoEffect, at, "is empty, and lets nobody in", "give a name, or remove it")
}

func labelAdvice(key string) string {
	const existence = "namespaces that have the label are let in, whatever its value"
	if name, _, found := strings.Cut(key, "="); found && len(metav1validation.ValidateLabelName(name,
		field.NewPath(""))) == 0 {
		return fmt.Sprintf("write %s: %s", name, existence)
	}
	return "write the key alone, such as team or example.com/team: " + existence
}

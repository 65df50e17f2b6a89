// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

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

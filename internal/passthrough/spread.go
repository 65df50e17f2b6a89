// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// spread checks topology spread constraints.
func (c *check) spread(list []corev1.TopologySpreadConstraint, at *field.Path) {
	seen := map[[2]string]bool{}
	for i := range list {
		s, at := &list[i], at.Index(i)
		if s.MaxSkew <= 0 {
			c.invalid(at.Child("maxSkew"), s.MaxSkew, "must be at least 1", "")
		}
		if s.TopologyKey == "" {
			c.missing(at.Child("topologyKey"), "give the label of nodes to spread over, such as "+corev1.LabelTopologyZone)
		}
		c.oneOf(at.Child("whenUnsatisfiable"), string(s.WhenUnsatisfiable), string(corev1.DoNotSchedule), string(corev1.ScheduleAnyway))
		if s.MinDomains != nil {
			c.minDomains(s, at.Child("minDomains"))
		}
		for _, p := range []struct {
			name  string
			value *corev1.NodeInclusionPolicy
		}{{"nodeAffinityPolicy", s.NodeAffinityPolicy}, {"nodeTaintsPolicy", s.NodeTaintsPolicy}} {
			if p.value != nil {
				c.oneOf(at.Child(p.name), string(*p.value), string(corev1.NodeInclusionPolicyHonor), string(corev1.NodeInclusionPolicyIgnore))
			}
		}
		if pair := [2]string{s.TopologyKey, string(s.WhenUnsatisfiable)}; seen[pair] {
			c.add(at, field.ErrorTypeDuplicate, s.TopologyKey, "", "give each pair of topologyKey and whenUnsatisfiable once")
		} else {
			seen[pair] = true
		}
		c.selector(s.LabelSelector, at.Child("labelSelector"))
		c.matchLabelKeys(s.MatchLabelKeys, s.LabelSelector, at)
	}
}

// matchLabelKeys checks the labels of which the pods have the same value as the pod that is placed. Kubernetes adds them to the selector when it makes a
// pod: it takes a Deployment where the selector names them too, and refuses each of its pods.
func (c *check) matchLabelKeys(keys []string, selector *metav1.LabelSelector, at *field.Path) {
	at, labelSelector := at.Child("matchLabelKeys"), at.Child("labelSelector")
	if len(keys) > 0 && selector == nil {
		c.invalid(at, keys[0], "works only with labelSelector", "add "+labelSelector.String()+", or remove it")
		return
	}
	for i, key := range keys {
		c.labelKey(at.Index(i), key)
		_, named := selector.MatchLabels[key]
		named = named || slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
		if named {
			c.invalid(at.Index(i), key, "is also a label of "+labelSelector.String(), "remove it from one of them")
		}
	}
}

func (c *check) minDomains(s *corev1.TopologySpreadConstraint, at *field.Path) {
	if *s.MinDomains <= 0 {
		c.invalid(at, *s.MinDomains, "must be at least 1", "")
	}
	if s.WhenUnsatisfiable != corev1.DoNotSchedule {
		c.invalid(at, *s.MinDomains, "works only with whenUnsatisfiable: "+string(corev1.DoNotSchedule), "set that, or remove it")
	}
}

// selector checks a label selector; nil selects nothing.
func (r *report) selector(s *metav1.LabelSelector, at *field.Path) {
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		r.invalid(at, nil, "is not a label selector: "+err.Error(), "")
	}
}

// oneOf checks a value that is one of a few.
func (r *report) oneOf(at *field.Path, value string, known ...string) {
	switch {
	case slices.Contains(known, value):
	case value == "":
		r.missing(at, "write one of "+strings.Join(known, ", "))
	default:
		r.add(at, field.ErrorTypeNotSupported, value, strings.TrimSpace(suggest.Sentence(value, known)), "write one of "+strings.Join(known, ", "))
	}
}

// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// toleration checks what taints of nodes the pods tolerate. Operators that newer Kubernetes has are taken.
func (c *check) toleration(t *corev1.Toleration, at *field.Path) {
	if t.Key != "" {
		c.labelKey(at.Child("key"), t.Key)
	}
	operator := t.Operator
	if operator == "" {
		operator = corev1.TolerationOpEqual
	}
	c.oneOf(at.Child("operator"), string(operator), string(corev1.TolerationOpEqual), string(corev1.TolerationOpExists),
		string(corev1.TolerationOpLt), string(corev1.TolerationOpGt))
	switch {
	case t.Key == "" && operator != corev1.TolerationOpExists:
		c.invalid(at.Child("operator"), string(t.Operator), "must be Exists where key is absent", "write operator: Exists, or give the key")
	case operator == corev1.TolerationOpExists && t.Value != "":
		c.invalid(at.Child("value"), t.Value, "must be absent where operator is Exists", "remove it, or write operator: Equal")
	case operator == corev1.TolerationOpEqual && len(validation.IsValidLabelValue(t.Value)) > 0:
		c.invalid(at.Child("value"), t.Value, "no taint can have this value", "use at most 63 letters, digits, '-', '_' and '.'")
	}
	if t.Effect != "" {
		c.oneOf(at.Child("effect"), string(t.Effect), string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule),
			string(corev1.TaintEffectNoExecute))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		c.invalid(at.Child("effect"), string(t.Effect), "must be NoExecute where tolerationSeconds is set", "write NoExecute, or remove tolerationSeconds")
	}
}

// affinity checks which nodes the pods need or prefer.
func (c *check) affinity(a *corev1.Affinity, at *field.Path) {
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if a == nil {
		return
	}
	if n := a.NodeAffinity; n != nil {
		at := at.Child("nodeAffinity")
		if r := n.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			terms := at.Child(required, "nodeSelectorTerms")
			if len(r.NodeSelectorTerms) == 0 {
				c.missing(terms, "give at least one term, or remove "+required)
			}
			for i := range r.NodeSelectorTerms {
				c.nodeTerm(&r.NodeSelectorTerms[i], terms.Index(i))
				c.nodeValues(&r.NodeSelectorTerms[i], terms.Index(i))
			}
		}
		for i := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			p, at := &n.PreferredDuringSchedulingIgnoredDuringExecution[i], at.Child(preferred).Index(i)
			c.weight(p.Weight, at.Child("weight"))
			c.nodeTerm(&p.Preference, at.Child("preference"))
		}
	}
	pods := func(requiredTerms []corev1.PodAffinityTerm, preferredTerms []corev1.WeightedPodAffinityTerm, at *field.Path) {
		for i := range requiredTerms {
			c.podTerm(&requiredTerms[i], at.Child(required).Index(i))
		}
		for i := range preferredTerms {
			at := at.Child(preferred).Index(i)
			c.weight(preferredTerms[i].Weight, at.Child("weight"))
			c.podTerm(&preferredTerms[i].PodAffinityTerm, at.Child("podAffinityTerm"))
		}
	}
	if p := a.PodAffinity; p != nil {
		pods(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity"))
	}
	if p := a.PodAntiAffinity; p != nil {
		pods(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity"))
	}
}

func (r *report) weight(weight int32, at *field.Path) {
	if weight < 1 || weight > 100 {
		r.invalid(at, weight, "must be between 1 and 100", "")
	}
}

// nodeTerm checks a selection of nodes by their labels and names.
func (c *check) nodeTerm(t *corev1.NodeSelectorTerm, at *field.Path) {
	for i := range t.MatchExpressions {
		e, at := &t.MatchExpressions[i], at.Child("matchExpressions").Index(i)
		c.labelKey(at.Child("key"), e.Key)
		c.oneOf(at.Child("operator"), string(e.Operator), string(corev1.NodeSelectorOpIn), string(corev1.NodeSelectorOpNotIn),
			string(corev1.NodeSelectorOpExists), string(corev1.NodeSelectorOpDoesNotExist), string(corev1.NodeSelectorOpGt), string(corev1.NodeSelectorOpLt))
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if len(e.Values) == 0 {
				c.missing(at.Child("values"), "give at least one value, which operator "+string(e.Operator)+" needs")
			}
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			if len(e.Values) > 0 {
				c.invalid(at.Child("values"), e.Values[0], "must be absent where operator is "+string(e.Operator), "remove it, or write operator: In")
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			if len(e.Values) != 1 {
				c.missing(at.Child("values"), "give exactly one value, which operator "+string(e.Operator)+" needs")
			}
		}
	}
	for i := range t.MatchFields {
		f, at := &t.MatchFields[i], at.Child("matchFields").Index(i)
		c.oneOf(at.Child("key"), f.Key, metadataName)
		c.oneOf(at.Child("operator"), string(f.Operator), string(corev1.NodeSelectorOpIn), string(corev1.NodeSelectorOpNotIn))
		if len(f.Values) != 1 {
			c.missing(at.Child("values"), "give exactly one name of a node")
		}
	}
}

// nodeValues checks the values of labels that nodes must have. Kubernetes does not check those that nodes should have.
func (c *check) nodeValues(t *corev1.NodeSelectorTerm, at *field.Path) {
	for i := range t.MatchExpressions {
		for j, value := range t.MatchExpressions[i].Values {
			if len(validation.IsValidLabelValue(value)) > 0 {
				c.invalid(at.Child("matchExpressions").Index(i).Child("values").Index(j), value, "no label can have this value",
					"use at most 63 letters, digits, '-', '_' and '.'")
			}
		}
	}
}

// metadataName is the only field of nodes that they can be selected by.
const metadataName = "metadata.name"

// podTerm checks a selection of pods, and the nodes that count as one place.
func (c *check) podTerm(t *corev1.PodAffinityTerm, at *field.Path) {
	if t.TopologyKey == "" {
		c.missing(at.Child("topologyKey"), "give the label of nodes that count as one place, such as "+corev1.LabelHostname)
	} else {
		c.labelKey(at.Child("topologyKey"), t.TopologyKey)
	}
	c.selector(t.LabelSelector, at.Child("labelSelector"))
	c.selector(t.NamespaceSelector, at.Child("namespaceSelector"))
	for i, name := range t.Namespaces {
		if len(validation.IsDNS1123Label(name)) > 0 {
			c.invalid(at.Child("namespaces").Index(i), name, "no namespace can have this name", "use at most 63 lower-case letters, digits and '-'")
		}
	}
	c.matchLabelKeys(t.MatchLabelKeys, t.LabelSelector, at)
	at = at.Child("mismatchLabelKeys")
	if len(t.MismatchLabelKeys) > 0 && t.LabelSelector == nil {
		c.invalid(at, t.MismatchLabelKeys[0], "works only with labelSelector", "add that, or remove it")
	}
	for i, key := range t.MismatchLabelKeys {
		c.labelKey(at.Index(i), key)
		if slices.Contains(t.MatchLabelKeys, key) {
			c.invalid(at.Index(i), key, "is also one of matchLabelKeys", "remove it from one of them")
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
)

// Set holds the variables of one server: those that the configuration needs, beside those that the user sets.
type Set struct {
	overrides []corev1.EnvVar
	needed    []Variable
	given     document.Variables
}

// NewSet returns the variables that the user sets in spec.workload.overrides.env.
func NewSet(spec *v1alpha2.LlamaStackDistributionSpec) *Set {
	s := &Set{}
	if w := spec.Workload; w != nil && w.Overrides != nil {
		s.overrides = w.Overrides.Env
	}
	s.index()
	return s
}

// Overrides returns what the user sets.
func (s *Set) Overrides() []corev1.EnvVar { return s.overrides }

// Add adds variables that the configuration needs.
func (s *Set) Add(variables ...Variable) {
	s.needed = append(s.needed, variables...)
	for i := range variables {
		s.given[variables[i].Name] = true
	}
}

// Needed returns the variables that the configuration needs.
func (s *Set) Needed() []Variable { return s.needed }

// Remove removes the needed variables of some names, which the user sets instead.
func (s *Set) Remove(names map[string]bool) {
	s.needed = slices.DeleteFunc(s.needed, func(v Variable) bool { return names[v.Name] })
	s.index()
}

// Sort brings the needed variables into the order in which they must stand.
func (s *Set) Sort() { slices.SortFunc(s.needed, Compare) }

// Given returns the variables that the container has whatever the image says. To the server an empty one is not set. What is
// added later is in it too.
func (s *Set) Given() document.Variables { return s.given }

// index makes given anew.
func (s *Set) index() {
	s.given = document.Variables{}
	for i := range s.overrides {
		if v := &s.overrides[i]; v.Value != "" || v.ValueFrom != nil {
			s.given[v.Name] = true
		}
	}
	for i := range s.needed {
		s.given[s.needed[i].Name] = true
	}
}

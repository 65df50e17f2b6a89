// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// Set holds the variables of one server: those that the configuration needs, beside those that the user sets.
type Set struct {
	overrides []corev1.EnvVar
	ofSecrets []string
	needed    []Variable
	given     document.Variables
}

// NewSet returns the variables that the user sets in spec.workload.overrides.env, and the names of those that envFrom
// takes from Secrets.
func NewSet(spec *v1alpha2.LlamaStackDistributionSpec, ofSecrets ...string) *Set {
	s := &Set{ofSecrets: ofSecrets}
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

// Given returns the variables that the container has whatever the image says. To the server an empty one is not set.
// What is added later is in it too.
func (s *Set) Given() document.Variables { return s.given }

// expansion is how Kubernetes refers to a variable in the value of another one, and in commands; $$ stands for a
// dollar.
var expansion = regexp.MustCompile(`\$\$|\$\(([^)]+)\)`)

// Expanded returns the first of the variables that Kubernetes replaces by its value in a text; empty where there is
// none.
func Expanded(text string, variables map[string]bool) string {
	for _, m := range expansion.FindAllStringSubmatch(text, -1) {
		if variables[m[1]] {
			return m[1]
		}
	}
	return ""
}

// Secrets returns the variables that have a value from a Secret, or one that Kubernetes makes of such a value.
func (s *Set) Secrets() map[string]bool {
	secrets := map[string]bool{}
	for _, name := range s.ofSecrets {
		secrets[name] = true
	}
	add := func(name, value string, fromSecret bool) {
		if fromSecret || Expanded(value, secrets) != "" {
			secrets[name] = true
		}
	}
	for i := range s.needed {
		add(s.needed[i].Name, s.needed[i].Value, s.needed[i].Ref.Name != "")
	}
	for i := range s.overrides {
		v := &s.overrides[i]
		add(v.Name, v.Value, v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil)
	}
	return secrets
}

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

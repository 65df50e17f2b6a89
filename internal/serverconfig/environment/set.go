// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// RuntimeVariables are the variables that the container runtime and Kubernetes set.
var RuntimeVariables = []string{"HOME", "HOSTNAME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "PATH"}

// Set holds the environment variables of a server: those that the configuration needs and those of the user.
type Set struct {
	overrides       []corev1.EnvVar
	secretVariables []string
	needed          []Variable
	given           document.Variables
}

// NewSet returns a set with the overrides in spec.workload.overrides.env; secretVariables come from Secrets by envFrom.
func NewSet(spec *v1alpha2.LlamaStackDistributionSpec, secretVariables ...string) *Set {
	s := &Set{secretVariables: secretVariables}
	if w := spec.Workload; w != nil && w.Overrides != nil {
		s.overrides = w.Overrides.Env
	}
	s.index()
	return s
}

// Overrides returns the variables of the user.
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

// Remove removes needed variables that the user overrides.
func (s *Set) Remove(names map[string]bool) {
	s.needed = slices.DeleteFunc(s.needed, func(v Variable) bool { return names[v.Name] })
	s.index()
}

// Sort sorts the needed variables with Compare.
func (s *Set) Sort() { slices.SortFunc(s.needed, Compare) }

// Given returns the non-empty variables that the operator or the user sets. Later additions appear in it.
func (s *Set) Given() document.Variables { return s.given }

// expansion matches a $(NAME) reference of Kubernetes, and $$ for a dollar.
var expansion = regexp.MustCompile(`\$\$|\$\(([^)]+)\)`)

// Expanded returns the first of the variables that Kubernetes expands in a text, or "".
func Expanded(text string, variables map[string]bool) string {
	for _, m := range expansion.FindAllStringSubmatch(text, -1) {
		if variables[m[1]] {
			return m[1]
		}
	}
	return ""
}

// Secrets returns the variables whose values come from Secrets, directly or by expansion.
func (s *Set) Secrets() map[string]bool {
	secrets := map[string]bool{}
	for _, name := range s.secretVariables {
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

// Of returns a set in which these variables are set.
func Of(given document.Variables) *Set { return &Set{given: given} }

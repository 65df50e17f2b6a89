// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// PodReferenceFact is what was found at a Secret or ConfigMap that the overrides bring into the pods.
type PodReferenceFact struct {
	// Ref is who refers to what.
	Ref objects.Reference
	// Lookup is what was found.
	Lookup
	// Content is what the pods get, by key; empty where there is no cluster to read it from. That of a ConfigMap is treated like that
	// of a Secret: nobody needs to see it.
	Content map[string]secret.Value
}

// checkPodReferences reports what keeps the pods from starting.
func (r *report) checkPodReferences(in *Inputs) {
	for i := range in.PodReferences {
		if f := &in.PodReferences[i]; !f.Ref.Optional {
			r.AddFound(f.absent(&f.Ref, in.CR.Namespace, ", or set optional: true there"))
		}
	}
}

// hash adds what the pods get to the hash.
func (f *PodReferenceFact) hash(h *secret.Hash) {
	h.Text(f.Ref.Kind)
	h.Text(f.Ref.Name)
	for _, key := range slices.Sorted(maps.Keys(f.Content)) {
		h.Text(key)
		h.Value(f.Content[key])
	}
}

// secretVariables are the names of the variables that the envFrom of the overrides takes from Secrets, as far as their
// keys are known.
func secretVariables(in *Inputs) []string {
	w := in.CR.Spec.Workload
	if w == nil || w.Overrides == nil {
		return nil
	}
	var names []string
	for i := range w.Overrides.EnvFrom {
		if w.Overrides.EnvFrom[i].SecretRef != nil {
			names = append(names, envFromVariables(in, &w.Overrides.EnvFrom[i], i)...)
		}
	}
	return names
}

// envFromVariables are the names of the variables of one envFrom of the overrides, as far as the keys of its object are
// known.
func envFromVariables(in *Inputs, from *corev1.EnvFromSource, index int) []string {
	var names []string
	for i := range in.PodReferences {
		if f := &in.PodReferences[i]; strings.HasPrefix(f.Ref.Path, fmt.Sprintf("%s.envFrom[%d].", objects.PathOverrides, index)) {
			for _, key := range slices.Sorted(maps.Keys(f.Content)) {
				names = append(names, from.Prefix+key)
			}
		}
	}
	return names
}

// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// PodReferenceFact is what was found at a Secret or ConfigMap that the overrides bring into the pods.
type PodReferenceFact struct {
	// Ref is who refers to what.
	Ref objects.Reference
	// Lookup is what was found.
	Lookup
	// Keys are those that the pods get of the object, sorted.
	Keys []string
	// Values are those of a Secret that the pods get. Of a ConfigMap, they are empty.
	Values []secret.Value
}

// AddPodReference adds what was found at a reference of the pods, with what they get of the object, by key. That is
// hashed, and only the values of Secrets stay in memory. in.Secrets is hashed before the first reference.
func AddPodReference(in *Inputs, ref objects.Reference, found Lookup, content map[string][]byte) {
	if in.podsHash == nil {
		in.podsHash = hashSecrets(in)
	}
	fact := PodReferenceFact{Ref: ref, Lookup: found, Keys: slices.Sorted(maps.Keys(content))}
	in.podsHash.Text(ref.Kind)
	in.podsHash.Text(ref.Name)
	for _, key := range fact.Keys {
		in.podsHash.Text(key)
		in.podsHash.Bytes(content[key])
		if ref.Kind == objects.KindSecret {
			fact.Values = append(fact.Values, secret.Wrap(content[key]))
		}
	}
	in.PodReferences = append(in.PodReferences, fact)
}

// checkPodReferences reports what keeps the pods from starting.
func (r *report) checkPodReferences(in *Inputs) {
	for i := range in.PodReferences {
		if f := &in.PodReferences[i]; !f.Ref.Optional {
			r.AddFound(f.absent(&f.Ref, in.CR.Namespace, ", or set optional: true there"))
		}
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
		if f := &in.PodReferences[i]; strings.HasPrefix(f.Ref.Path,
			fmt.Sprintf("%s.envFrom[%d].", objects.PathOverrides, index)) {
			for _, key := range f.Keys {
				names = append(names, from.Prefix+key)
			}
		}
	}
	return names
}

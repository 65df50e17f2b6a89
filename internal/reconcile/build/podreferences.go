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

// PodReferenceFact is the result of reading a Secret or ConfigMap of the pods' overrides.
type PodReferenceFact struct {
	Ref objects.Reference
	Lookup
	// Keys are the object's keys that the pods get, sorted.
	Keys []string
	// Values are the values that the pods get of a Secret; empty for a ConfigMap.
	Values []secret.Value
}

// AddPodReference adds a pod reference and hashes its content. It hashes in.Secrets first, so set them before.
func AddPodReference(in *Inputs, ref objects.Reference, found Lookup, content map[string][]byte) {
	if in.podsHash == nil {
		in.podsHash = hashSecrets(in)
	}
	fact := PodReferenceFact{Ref: ref, Lookup: found, Keys: slices.Sorted(maps.Keys(content))}
	hashContent(in.podsHash, &ref, fact.Keys, content)
	if ref.Kind == objects.KindSecret {
		for _, key := range fact.Keys {
			fact.Values = append(fact.Values, secret.Wrap(content[key]))
		}
	} else {
		if in.configMapsHash == nil {
			in.configMapsHash = secret.NewHash(in.HashKey)
		}
		hashContent(in.configMapsHash, &ref, fact.Keys, content)
	}
	in.PodReferences = append(in.PodReferences, fact)
}

func hashContent(h *secret.Hash, ref *objects.Reference, keys []string, content map[string][]byte) {
	h.Text(ref.Kind)
	h.Text(ref.Name)
	for _, key := range keys {
		h.Text(key)
		h.Bytes(content[key])
	}
}

// checkPodReferences reports references that keep the pods from starting.
func (r *report) checkPodReferences(in *Inputs) {
	for i := range in.PodReferences {
		if f := &in.PodReferences[i]; !f.Ref.Optional {
			r.AddFound(f.absent(&f.Ref, in.CR.Namespace, ", or set optional: true there"))
		}
	}
}

// secretVariables returns the variables that envFrom takes from Secrets, if their keys are known.
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

// envFromVariables returns the variables of one envFrom, if the keys of its object are known.
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

// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// PodReferenceFact is what was found at a Secret or ConfigMap that the overrides bring into the pods.
type PodReferenceFact struct {
	// Ref is who refers to what.
	Ref objects.PodReference
	// Missing reports that there is no such object.
	Missing bool
	// MissingKeys are the keys, of those that the reference names, that the object does not have.
	MissingKeys []string
	// Keys are the keys of the object where there are MissingKeys, sorted.
	Keys []string
	// Content is what the pods get, by key; empty where there is no cluster to read it from. That of a ConfigMap is treated like that
	// of a Secret: nobody needs to see it.
	Content map[string]secret.Value
}

// checkPodReferences reports what keeps the pods from starting.
func (r *report) checkPodReferences(in *Inputs) {
	for i := range in.PodReferences {
		r.AddFound(in.PodReferences[i].absent(in.CR.Namespace))
	}
}

// absent is the problem of a reference that keeps the pods from starting; it heals by itself.
func (f *PodReferenceFact) absent(namespace string) *problem.Problem {
	ref := &f.Ref
	if ref.Optional || !f.Missing && len(f.MissingKeys) == 0 {
		return nil
	}
	p := problem.Problem{Reason: problem.SecretNotFound, Path: ref.Path}
	if ref.Kind == objects.KindConfigMap {
		p.Reason = problem.ConfigMapNotFound
	}
	const orOptional = ", or set optional: true there"
	if f.Missing {
		p.Detail, p.Fix = fmt.Sprintf("%s not found: %s (namespace %s)", ref.Kind, ref.Name, namespace), "create it"
		if len(ref.Keys) > 0 {
			p.Fix += " with the " + theKeys(ref.Keys)
		}
		p.Fix += orOptional
		return problem.New(p)
	}
	p.Detail = fmt.Sprintf("%s %s (namespace %s) lacks the %s", ref.Kind, ref.Name, namespace, theKeys(f.MissingKeys))
	p.Fix = "add what is missing" + orOptional + existing(f.Keys)
	return problem.New(p)
}

func theKeys(keys []string) string {
	quoted := make([]string, 0, len(keys))
	for _, key := range keys {
		quoted = append(quoted, fmt.Sprintf("%q", key))
	}
	if len(keys) == 1 {
		return "key " + quoted[0]
	}
	return "keys " + strings.Join(quoted, ", ")
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

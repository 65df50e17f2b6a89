// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// PodReferenceFact is what was found at a Secret or ConfigMap that the overrides bring into the pods.
type PodReferenceFact struct {
	// Ref tells who refers to what.
	Ref objects.PodReference
	// Missing tells that there is no such object.
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
func checkPodReferences(in *Inputs) fault.List {
	var faults fault.List
	for i := range in.PodReferences {
		if f := in.PodReferences[i].absent(in.CR.Namespace); f != nil {
			faults = append(faults, f)
		}
	}
	return faults
}

// absent is the fault of a reference that keeps the pods from starting; it heals by itself.
func (f *PodReferenceFact) absent(namespace string) *fault.Fault {
	ref := &f.Ref
	if ref.Optional || !f.Missing && len(f.MissingKeys) == 0 {
		return nil
	}
	found := &fault.Fault{Class: fault.Missing, Condition: v1alpha2.ConditionSecretsResolved, Reason: v1alpha2.ReasonSecretNotFound}
	if ref.Kind == objects.KindConfigMap {
		found.Condition, found.Reason = v1alpha2.ConditionConfigGenerated, v1alpha2.ReasonConfigMapNotFound
	}
	const orOptional = ", or set optional: true there"
	if f.Missing {
		with := ""
		if len(ref.Keys) > 0 {
			with = " with the " + theKeys(ref.Keys)
		}
		found.Message = fmt.Sprintf("%s not found: %s (namespace %s, referenced by %s): create it%s%s", ref.Kind, ref.Name, namespace, ref.Path, with, orOptional)
		return found
	}
	existing := "; it has no keys"
	if len(f.Keys) > 0 {
		existing = "; its keys are " + bounds.Names(f.Keys)
	}
	found.Message = fmt.Sprintf("%s %s (namespace %s, referenced by %s) lacks the %s: add what is missing%s%s",
		ref.Kind, ref.Name, namespace, ref.Path, theKeys(f.MissingKeys), orOptional, existing)
	return found
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

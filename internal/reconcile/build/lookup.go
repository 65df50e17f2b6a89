// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// State reports what was found at a reference to a Secret or ConfigMap.
type State int

// The states of a reference.
const (
	// Found: the object has what the reference needs.
	Found State = iota
	// Missing: there is no such object.
	Missing
	// KeyMissing: the object lacks keys.
	KeyMissing
	// Empty: the value is empty, which the server takes for an unset variable.
	Empty
	// NotWatched: the object would be in a namespace that the operator does not watch. It was not read.
	NotWatched
	// Forbidden: the object would be in another namespace, which the operator's flags do not allow. It was not read.
	Forbidden
	// NotAllowed: the object would be in another namespace, and does not exist or has no consent of its owner. Its content
	// was not looked at.
	NotAllowed
	// Unknown: the object was not read: there is no cluster, or the answer would disclose what it holds.
	Unknown
)

// Lookup is what was found at a reference to a Secret or ConfigMap, the same for all of them.
type Lookup struct {
	// State reports what was found.
	State State
	// MissingKeys are the keys that the reference needs and the object lacks, and ExistingKeys those that it has, sorted.
	// Both are empty where the State is another than KeyMissing.
	MissingKeys, ExistingKeys []string
}

// LookIn is what was found in an object with this content, of which the keys are needed.
func LookIn[V any](content map[string]V, keys ...string) Lookup {
	var found Lookup
	for _, key := range keys {
		if _, ok := content[key]; !ok {
			found.State, found.MissingKeys = KeyMissing, append(found.MissingKeys, key)
		}
	}
	if found.State == KeyMissing {
		found.ExistingKeys = slices.Sorted(maps.Keys(content))
	}
	return found
}

// absent is the problem of a reference that cannot be used, nil where it can, or where nobody knows. Where the object
// or a key is missing, it heals by itself: the object is watched. own is the namespace of the custom resource; another
// continues the fix with a further way out, or is empty.
func (l *Lookup) absent(ref *objects.Reference, own, another string) *problem.Problem {
	if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return nil // nothing can have that name, which is reported as such
	}
	p := problem.Problem{Reason: problem.SecretNotFound, Path: ref.Path}
	if ref.Kind == objects.KindConfigMap {
		p.Reason = problem.ConfigMapNotFound
	}
	switch l.State {
	case Missing:
		p.Detail, p.Fix = fmt.Sprintf("%s not found: %s (namespace %s)", ref.Kind, ref.Name, ref.Namespace), "create it"
		if len(ref.Keys) > 0 {
			p.Fix += " with the " + theKeys(ref.Keys)
		}
		p.Fix += another
	case KeyMissing:
		p.Detail = fmt.Sprintf("%s %s (namespace %s) has no %s", ref.Kind, ref.Name, ref.Namespace, theKeys(l.MissingKeys))
		add := "add it"
		if len(l.MissingKeys) > 1 {
			add = "add them"
		}
		p.Fix = add + another + l.existing()
	case Empty:
		p.Detail = fmt.Sprintf("the value of %s in %s %s/%s is empty, which the server takes for unset", theKeys(ref.Keys),
			ref.Kind, ref.Namespace, ref.Name)
		p.Fix = "give it a value"
	case NotWatched:
		l.foreign(&p, ref, own, "which this operator does not watch")
	case Forbidden:
		l.foreign(&p, ref, own, "and this operator does not allow other namespaces")
	case NotAllowed:
		// Whether it exists is not said: who may not read the namespace does not learn what is there.
		p.Reason, p.Type = problem.ConfigMapNotFound, field.ErrorTypeForbidden
		p.Detail = fmt.Sprintf("%s %s in namespace %s does not exist, or does not allow namespace %s to use it", ref.Kind,
			ref.Name, ref.Namespace, own)
		p.Fix = fmt.Sprintf("annotate it with %s: %s, or copy it to namespace %s", v1alpha2.AllowFromAnnotation, own, own)
	case Found, Unknown:
		return nil
	}
	return problem.New(p)
}

// foreign completes the problem of a reference to another namespace that is not followed.
func (*Lookup) foreign(p *problem.Problem, ref *objects.Reference, own, why string) {
	p.Reason, p.Type, p.Fix = problem.ForbiddenBySettings, field.ErrorTypeForbidden, "copy it to namespace "+own
	p.Detail = fmt.Sprintf("%s %s is in namespace %s, %s", ref.Kind, ref.Name, ref.Namespace, why)
}

// existing says which keys the object has, the nearest one first.
func (l *Lookup) existing() string {
	if len(l.ExistingKeys) == 0 {
		return "; it has no keys"
	}
	near := ""
	if len(l.MissingKeys) == 1 {
		near = suggest.Sentence(l.MissingKeys[0], l.ExistingKeys)
	}
	return "; " + near + "its keys are " + limits.Names(l.ExistingKeys)
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

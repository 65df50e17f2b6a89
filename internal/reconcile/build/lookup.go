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
)

// State is the result of looking up a reference to a Secret or ConfigMap.
type State int

// The states of a reference.
const (
	// Found means that the object has the needed content.
	Found State = iota
	// Missing means that the object does not exist.
	Missing
	// KeyMissing means that the object lacks keys.
	KeyMissing
	// Empty means that the value is empty, which the server treats as an unset variable.
	Empty
	// NotWatched means that the object's namespace is not watched; it was not read.
	NotWatched
	// Forbidden means that the operator's flags or settings forbid the object's namespace; it was not read.
	Forbidden
	// NotAllowed means that an object in another namespace does not exist or lacks its owner's consent.
	NotAllowed
	// Unknown means that the object was not read, because there is no cluster or the result would disclose its content.
	Unknown
)

// Lookup is the result of looking up a reference.
type Lookup struct {
	State State
	// MissingKeys are the needed keys that the object lacks, and ExistingKeys its keys; both only for KeyMissing.
	MissingKeys, ExistingKeys []string
}

// LookIn returns the result of looking for the keys in an object's content.
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

// absent returns the problem of an unusable reference, or nil. own is the custom resource's namespace; another extends
// the fix.
func (l *Lookup) absent(ref *objects.Reference, own, another string) *problem.Problem {
	if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return nil // validation reports a name that no object can have
	}
	p := problem.Problem{Reason: problem.SecretNotFound, Path: ref.Path}
	if ref.Kind == objects.KindConfigMap {
		p.Reason = problem.ConfigMapNotFound
	}
	switch l.State {
	case Missing:
		p.Detail, p.Fix = fmt.Sprintf("%s not found: %s (namespace %s)", ref.Kind, ref.Name, ref.Namespace), "create it"
		if len(ref.Keys) > 0 {
			p.Fix += " with the " + quoteKeys(ref.Keys)
		}
		p.Fix += another
	case KeyMissing:
		p.Detail = fmt.Sprintf("%s %s (namespace %s) has no %s", ref.Kind, ref.Name, ref.Namespace, quoteKeys(l.MissingKeys))
		add := "add it"
		if len(l.MissingKeys) > 1 {
			add = "add them"
		}
		p.Fix = add + another + l.existing()
	case Empty:
		p.Detail = fmt.Sprintf("the value of %s in %s %s/%s is empty, which the server treats as unset", quoteKeys(ref.Keys),
			ref.Kind, ref.Namespace, ref.Name)
		p.Fix = "set a value"
	case NotWatched:
		l.foreign(&p, ref, own, "which this operator does not watch")
	case Forbidden:
		l.foreign(&p, ref, own, "and this operator does not allow other namespaces")
	case NotAllowed:
		// Do not disclose whether the object exists.
		p.Reason, p.Type = problem.ConfigMapNotFound, field.ErrorTypeForbidden
		p.Detail = fmt.Sprintf("%s %s in namespace %s does not exist, or does not allow namespace %s to use it", ref.Kind,
			ref.Name, ref.Namespace, own)
		p.Fix = fmt.Sprintf("annotate it with %s: %s, or copy it to namespace %s", v1alpha2.AllowFromAnnotation, own, own)
	case Found, Unknown:
		return nil
	}
	return problem.New(p)
}

func (*Lookup) foreign(p *problem.Problem, ref *objects.Reference, own, reason string) {
	p.Reason, p.Type, p.Fix = problem.ForbiddenBySettings, field.ErrorTypeForbidden, "copy it to namespace "+own
	p.Detail = fmt.Sprintf("%s %s is in namespace %s, %s", ref.Kind, ref.Name, ref.Namespace, reason)
}

// existing returns the object's keys for a message, the most similar one first.
func (l *Lookup) existing() string {
	if len(l.ExistingKeys) == 0 {
		return "; it has no keys"
	}
	near := ""
	if len(l.MissingKeys) == 1 {
		near = problem.DidYouMean(l.MissingKeys[0], l.ExistingKeys)
	}
	return "; " + near + "its keys are " + limits.Names(l.ExistingKeys)
}

func quoteKeys(keys []string) string {
	quoted := make([]string, 0, len(keys))
	for _, key := range keys {
		quoted = append(quoted, fmt.Sprintf("%q", key))
	}
	if len(keys) == 1 {
		return "key " + quoted[0]
	}
	return "keys " + strings.Join(quoted, ", ")
}

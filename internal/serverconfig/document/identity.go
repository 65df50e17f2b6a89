// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// Presence says when a configured provider is enabled.
type Presence int

const (
	// Disabled means that the id is null, empty or DisabledID.
	Disabled Presence = iota
	// Unconditional means that the id is plain.
	Unconditional
	// Conditional means that an environment variable enables the provider, and its id is known.
	Conditional
	// Unknown means that the whole id comes from an environment variable.
	Unknown
)

// DisabledID is the id with which the server disables an entry.
const DisabledID = "__disabled__"

// Identity is the id of a configured provider as the server evaluates it.
type Identity struct {
	// ID is the effective id; empty for Disabled and Unknown.
	ID string
	// Raw is the id as written.
	Raw      string
	Presence Presence
}

// IdentityOf parses a provider_id.
func IdentityOf(id *yaml.Node) Identity {
	raw := Text(id)
	if id == nil || raw == "" || raw == DisabledID {
		return Identity{Raw: raw, Presence: Disabled}
	}
	if !strings.Contains(raw, "${env.") {
		return Identity{ID: raw, Raw: raw, Presence: Unconditional}
	}
	ref, whole := WholeReference(raw)
	switch {
	case !whole && HasReference(raw):
		return Identity{Raw: raw, Presence: Unknown}
	case !whole:
		return Identity{ID: raw, Raw: raw, Presence: Unconditional}
	case ref.Value == DisabledID:
		// ${env.X:=__disabled__}: the id is the value of the variable, if set.
		return Identity{Raw: raw, Presence: Unknown}
	case ref.Operator != "" && ref.Value != "":
		return Identity{ID: ref.Value, Raw: raw, Presence: Conditional}
	case ref.Operator == IfSet:
		return Identity{Raw: raw, Presence: Disabled}
	default:
		return Identity{Raw: raw, Presence: Unknown}
	}
}

// EffectiveIDs returns the effective ids, sorted and without duplicates.
func EffectiveIDs(ids []Identity) []string {
	var names []string
	for _, id := range ids {
		if id.ID != "" {
			names = append(names, id.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// FindIdentity returns the first identity with an effective id.
func FindIdentity(ids []Identity, id string) (Identity, bool) {
	at := slices.IndexFunc(ids, func(i Identity) bool { return i.ID == id && id != "" })
	if at < 0 {
		return Identity{}, false
	}
	return ids[at], true
}

// ProviderSet indexes the providers of an API by id.
type ProviderSet struct {
	// All are all providers, in the order of the configuration.
	All []Identity
	// Enabled are the providers that are enabled independently of the image's environment.
	Enabled []Identity
	// HasUnknown reports whether the id of a provider comes from the environment.
	HasUnknown bool
	// byID maps an effective id to its first provider, enabled ones first.
	byID map[string]Identity
}

// Lookup returns the current providers of an API. given are the variables known to be set.
func (d *Document) Lookup(api string, given Variables) *ProviderSet {
	ids := d.Identities(api)
	s := &ProviderSet{All: ids, Enabled: given.Enabled(ids), byID: make(map[string]Identity, len(ids))}
	for _, list := range [][]Identity{s.Enabled, ids} {
		for _, id := range list {
			if _, known := s.byID[id.ID]; !known && id.ID != "" {
				s.byID[id.ID] = id
			}
		}
	}
	for _, id := range ids {
		s.HasUnknown = s.HasUnknown || id.Presence == Unknown
	}
	return s
}

// Find returns the provider with an effective id: the first enabled one, or else the first.
func (s *ProviderSet) Find(id string) (Identity, bool) {
	found, ok := s.byID[id]
	return found, ok
}

// First returns the first provider with an effective id, enabled or not.
func (s *ProviderSet) First(id string) (Identity, bool) { return FindIdentity(s.All, id) }

// Nearest returns "did you mean …? " with the most similar effective id, or "".
func (s *ProviderSet) Nearest(id string) string { return problem.DidYouMean(id, EffectiveIDs(s.All)) }

// Names lists the effective ids for a message.
func (s *ProviderSet) Names() string { return limits.Names(EffectiveIDs(s.All)) }

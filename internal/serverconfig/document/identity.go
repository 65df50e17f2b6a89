// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/suggest"
)

// Presence is when a configured provider is enabled.
type Presence int

// The presences.
const (
	// Disabled: the id is null, empty or DisabledID.
	Disabled Presence = iota
	// Unconditional: the id is plain.
	Unconditional
	// Conditional: the id depends on an environment variable, but what it is when the provider is enabled is known.
	Conditional
	// Unknown: the whole id comes from an environment variable.
	Unknown
)

// DisabledID is the id by which the server disables an entry.
const DisabledID = "__disabled__"

// Identity is the id of a configured provider as the server will see it.
type Identity struct {
	// ID is the effective id; empty when the presence is Disabled or Unknown.
	ID string
	// Raw is the id as it stands in the configuration.
	Raw string
	// Presence is when the provider is enabled.
	Presence Presence
}

// IdentityOf reads a provider_id.
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
		// ${env.X:=__disabled__}: disabled unless the environment names it.
		return Identity{Raw: raw, Presence: Unknown}
	case ref.Operator != "" && ref.Value != "":
		return Identity{ID: ref.Value, Raw: raw, Presence: Conditional}
	case ref.Operator == IfSet:
		return Identity{Raw: raw, Presence: Disabled}
	default:
		return Identity{Raw: raw, Presence: Unknown}
	}
}

// EffectiveIDs returns the known ids among them, sorted and once each, for messages.
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

// ProviderSet holds the providers of an API, to look them up by id as often as there are models, shields or tools.
type ProviderSet struct {
	// All are all of them, in the order of the configuration.
	All []Identity
	// Enabled are those that are enabled whatever the environment of the image says.
	Enabled []Identity
	// HasUnknown reports that there is one whose id only the environment knows.
	HasUnknown bool
	// byID are the first ones with an effective id; an enabled one comes before the others.
	byID map[string]Identity
}

// Lookup returns the providers of an API as they are now. given are the variables that are known to be set.
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

// Find finds a provider by its effective id. A base can have several of one id, each with its own condition: one that
// is unconditionally enabled comes first.
func (s *ProviderSet) Find(id string) (Identity, bool) {
	found, ok := s.byID[id]
	return found, ok
}

// First finds the first provider with an effective id, whatever its condition.
func (s *ProviderSet) First(id string) (Identity, bool) { return FindIdentity(s.All, id) }

// Nearest returns "did you mean …? " for the effective id nearest to one that is not there; empty where none is near.
func (s *ProviderSet) Nearest(id string) string { return suggest.Sentence(id, EffectiveIDs(s.All)) }

// Names lists the effective ids for a message.
func (s *ProviderSet) Names() string { return limits.Names(EffectiveIDs(s.All)) }

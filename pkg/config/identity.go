// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// envPattern is the one form in which the server refers to the environment: ${env.X}, ${env.X:=default} and
// ${env.X:+value if set}.
var envPattern = regexp.MustCompile(`\$\{env\.([A-Z0-9_]+)(?::([=+])([^}]*))?\}`)

// wholeReference takes a text apart that is one reference to the environment and nothing else: what envPattern finds, and like that
// nil where there is no such reference. Every id of every provider goes through it many times, for which the pattern is too slow.
func wholeReference(s string) []string {
	rest, ok := strings.CutPrefix(s, "${env.")
	rest, closed := strings.CutSuffix(rest, "}")
	if !ok || !closed {
		return nil
	}
	name, value, conditional := strings.Cut(rest, ":")
	operator := ""
	if conditional {
		if value == "" || value[0] != '=' && value[0] != '+' {
			return nil
		}
		operator, value = value[:1], value[1:]
	}
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' }
	if name == "" || strings.ContainsFunc(name, other) || strings.Contains(value, "}") {
		return nil
	}
	return []string{s, name, operator, value}
}

// presence tells when a configured provider is there.
type presence int

const (
	// never: the id is null, empty or the word by which the server turns an entry off.
	never presence = iota
	// always: the id is plain.
	always
	// sometimes: the id depends on an environment variable, but what it is when the provider is there is known.
	sometimes
	// unknown: the whole id comes from an environment variable.
	unknown
)

// disabledID is the id by which the server turns an entry off.
const disabledID = "__disabled__"

// identity is the id of a configured provider as the server will see it.
type identity struct {
	// id is the effective id; empty when the presence is never or unknown.
	id string
	// raw is the id as it stands in the configuration.
	raw      string
	presence presence
}

func identityOf(id *yaml.Node) identity {
	raw := text(id)
	if id == nil || raw == "" || raw == disabledID {
		return identity{raw: raw, presence: never}
	}
	if !strings.Contains(raw, "${env.") {
		return identity{id: raw, raw: raw, presence: always}
	}
	m := wholeReference(raw)
	switch {
	case m == nil && envPattern.MatchString(raw):
		return identity{raw: raw, presence: unknown}
	case m == nil:
		return identity{id: raw, raw: raw, presence: always}
	case m[3] == disabledID:
		// ${env.X:=__disabled__}: off unless the environment names it.
		return identity{raw: raw, presence: unknown}
	case m[2] == "+" && m[3] != "", m[2] == "=" && m[3] != "":
		return identity{id: m[3], raw: raw, presence: sometimes}
	case m[2] == "+":
		return identity{raw: raw, presence: never}
	default:
		return identity{raw: raw, presence: unknown}
	}
}

// identities returns the ids of the providers of an API, in the order of the configuration.
func identities(root *yaml.Node, api string) []identity {
	var ids []identity
	for _, entry := range items(child(child(root, "providers"), api)) {
		ids = append(ids, identityOf(child(entry, "provider_id")))
	}
	return ids
}

// effectiveIDs returns the known ids among them, sorted and once each, for messages.
func effectiveIDs(ids []identity) []string {
	var names []string
	for _, id := range ids {
		if id.id != "" {
			names = append(names, id.id)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func findIdentity(ids []identity, name string) (identity, bool) {
	at := slices.IndexFunc(ids, func(i identity) bool { return i.id == name && name != "" })
	if at < 0 {
		return identity{}, false
	}
	return ids[at], true
}

// providerSet are the providers of an API, to look them up by id as often as there are models, shields or tools.
type providerSet struct {
	all []identity
	// certain are those that are there whatever the environment of the image says.
	certain []identity
	// byID are the first ones with an effective id; a certain one comes before the others.
	byID map[string]identity
	// unknown tells that there is one whose id only the environment knows.
	unknown bool
}

// providersOf looks at the providers of an API as they are now.
func (g *generation) providersOf(api string) *providerSet {
	ids := identities(g.root, api)
	s := &providerSet{all: ids, certain: g.certain(ids), byID: make(map[string]identity, len(ids))}
	for _, list := range [][]identity{s.certain, ids} {
		for _, id := range list {
			if _, known := s.byID[id.id]; !known && id.id != "" {
				s.byID[id.id] = id
			}
		}
	}
	for _, id := range ids {
		s.unknown = s.unknown || id.presence == unknown
	}
	return s
}

// find finds a provider by its effective id. A base can have several of one id, each with its own condition: one that is unconditionally
// enabled comes first.
func (s *providerSet) find(id string) (identity, bool) {
	found, ok := s.byID[id]
	return found, ok
}

// first finds the first provider with an effective id, whatever its condition.
func (s *providerSet) first(id string) (identity, bool) { return findIdentity(s.all, id) }

// known names the effective ids for a message.
func (s *providerSet) known() string { return bounds.Names(effectiveIDs(s.all)) }

// expected are the providers of the configuration that are there whatever the environment says beyond what the resource gives.
func (g *generation) expected() []ProviderName {
	given := g.givenEnv()
	var names []ProviderName
	for api, entries := range members(child(g.root, "providers")) {
		for _, entry := range items(entries) {
			id := identityOf(child(entry, "provider_id"))
			turnedOn := false
			if m := wholeReference(id.raw); m != nil {
				turnedOn = id.presence == sometimes && m[2] == "+" && given[m[1]]
			}
			if id.presence == always || turnedOn {
				names = append(names, ProviderName{API: api, ID: id.id})
			}
		}
	}
	return names
}

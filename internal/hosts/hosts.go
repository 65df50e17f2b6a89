// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// Use is what a custom resource that is exposed asks for.
type Use struct {
	// Name is the custom resource.
	Name types.NamespacedName
	// Created is when it was created.
	Created time.Time
	// Hostname is the host name in its spec; empty where it has one made of its name and namespace in the domain of the operator's settings, or none
	// where these have no domain.
	Hostname string
}

// byAge orders uses: the older one first, and of two of the same second the one that the alphabet puts first.
func byAge(a, b Use) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name.Namespace, b.Name.Namespace), cmp.Compare(a.Name.Name, b.Name.Name))
}

// Table holds uses. It may be used from several goroutines; nil holds none.
type Table struct {
	mu   sync.Mutex
	uses map[types.NamespacedName]Use
	// groups are the uses that ask for the same, the oldest first.
	groups map[string][]Use
}

// New returns an empty table.
func New() *Table {
	return &Table{uses: map[types.NamespacedName]Use{}, groups: map[string][]Use{}}
}

// none is the group of the uses without a host name in the spec.
const none = "none"

func named(host string) string { return "host " + host }

// made is the group of the uses whose host name, if the operator's settings have a domain, begins with this label: a namespace and a name can make
// the same one as others.
func made(label string) string { return "made " + label }

// groupsOf are the groups that a use is in.
func groupsOf(c *Use) []string {
	if c.Hostname != "" {
		return []string{named(c.Hostname)}
	}
	return []string{made(objects.HostLabel(c.Name)), none}
}

// rivals are the groups of uses that ask for the same as this one where the operator's settings have the domain; empty means that they have none.
func rivals(c *Use, domain string) []string {
	label, rest, _ := strings.Cut(c.Hostname, ".")
	switch {
	case c.Hostname == "" && domain == "":
		return []string{none}
	case c.Hostname == "":
		label = objects.HostLabel(c.Name)
		return []string{made(label), named(label + "." + domain)}
	case domain != "" && rest == domain:
		return []string{named(c.Hostname), made(label)}
	}
	return []string{named(c.Hostname)}
}

// Put records the use of a custom resource in place of an earlier one. It returns the custom resources whose Elder may be another now.
func (t *Table) Put(c Use, domain string) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	former, known := t.uses[c.Name]
	if known && byAge(former, c) == 0 && former.Hostname == c.Hostname {
		return nil
	}
	concerned := t.remove(c.Name, domain)
	t.uses[c.Name] = c
	for _, group := range groupsOf(&c) {
		at, _ := slices.BinarySearchFunc(t.groups[group], c, byAge)
		t.groups[group] = slices.Insert(t.groups[group], at, c)
	}
	return append(append(concerned, t.next(&c, domain)...), c.Name)
}

// Remove forgets what a custom resource uses. It returns the custom resources whose Elder may be another now.
func (t *Table) Remove(name types.NamespacedName, domain string) []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(name, domain)
}

func (t *Table) remove(name types.NamespacedName, domain string) []types.NamespacedName {
	c, known := t.uses[name]
	if !known {
		return nil
	}
	delete(t.uses, name)
	for _, group := range groupsOf(&c) {
		list := t.groups[group]
		if at, found := slices.BinarySearchFunc(list, c, byAge); found {
			t.groups[group] = slices.Delete(list, at, at+1)
		}
		if len(t.groups[group]) == 0 {
			delete(t.groups, group)
		}
	}
	return t.next(&c, domain)
}

// next are the uses that come right after this one.
func (t *Table) next(c *Use, domain string) []types.NamespacedName {
	var names []types.NamespacedName
	for _, group := range rivals(c, domain) {
		list := t.groups[group]
		at, found := slices.BinarySearchFunc(list, *c, byAge)
		if found {
			at++
		}
		if at < len(list) {
			names = append(names, list[at].Name)
		}
	}
	return names
}

// Elder returns the next older custom resource that uses the same host as this one where the operator's settings have the domain; empty means that
// they have none, and that all uses without a host name in the spec ask for the same.
func (t *Table) Elder(c Use, domain string) (types.NamespacedName, bool) {
	if t == nil {
		return types.NamespacedName{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var elder *Use
	for _, group := range rivals(&c, domain) {
		list := t.groups[group]
		at, _ := slices.BinarySearchFunc(list, c, byAge)
		if at > 0 && (elder == nil || byAge(*elder, list[at-1]) < 0) {
			elder = &list[at-1]
		}
	}
	if elder == nil {
		return types.NamespacedName{}, false
	}
	return elder.Name, true
}

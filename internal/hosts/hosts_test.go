// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func use(namespace, name string, age int, hostname string) Use {
	return Use{Name: types.NamespacedName{Namespace: namespace, Name: name}, Created: start.Add(time.Duration(age) * time.Second), Hostname: hostname}
}

// Proves: R62 (two custom resources that use one host, however each comes by it; without a domain, those without a host name ask for the same).
func TestElderIsTheNextOlderUserOfTheSameHost(t *testing.T) {
	for name, c := range map[string]struct {
		domain string
		uses   []Use
		want   string // the elder of the last use
	}{
		"same host":                       {"", []Use{use("a", "x", 1, "h.example"), use("b", "y", 2, "h.example")}, "a/x"},
		"other host":                      {"", []Use{use("a", "x", 1, "g.example"), use("b", "y", 2, "h.example")}, ""},
		"the elder itself":                {"", []Use{use("b", "y", 2, "h.example"), use("a", "x", 1, "h.example")}, ""},
		"next older of two":               {"", []Use{use("a", "x", 1, "h.example"), use("b", "y", 2, "h.example"), use("c", "z", 3, "h.example")}, "b/y"},
		"same second":                     {"", []Use{use("a", "x", 1, "h.example"), use("b", "y", 1, "h.example")}, "a/x"},
		"host-less":                       {"", []Use{use("a", "x", 1, ""), use("b", "y", 2, "")}, "a/x"},
		"host-less and not":               {"", []Use{use("a", "x", 1, "h.example"), use("b", "y", 2, "")}, ""},
		"host-less, with a domain":        {"example", []Use{use("a", "x", 1, ""), use("b", "y", 2, "")}, ""},
		"made alike":                      {"example", []Use{use("b-c", "a", 1, ""), use("c", "a-b", 2, "")}, "b-c/a"},
		"made, and named so":              {"apps.example", []Use{use("b", "a", 1, ""), use("c", "x", 2, "a-b.apps.example")}, "b/a"},
		"named so, and made":              {"apps.example", []Use{use("c", "x", 1, "a-b.apps.example"), use("b", "a", 2, "")}, "c/x"},
		"named so in another domain":      {"apps.example", []Use{use("b", "a", 1, ""), use("c", "x", 2, "a-b.other.example")}, ""},
		"named so where nothing is made":  {"", []Use{use("b", "a", 1, ""), use("c", "x", 2, "a-b.apps.example")}, ""},
		"the younger of made and named":   {"example", []Use{use("b", "a", 1, ""), use("d", "x", 2, "a-b.example"), use("e", "y", 3, "a-b.example")}, "d/x"},
		"a former use does not count":     {"", []Use{use("a", "x", 1, "h.example"), use("a", "x", 1, "g.example"), use("b", "y", 2, "h.example")}, ""},
		"made again under the same name":  {"", []Use{use("a", "x", 1, "h.example"), use("a", "x", 9, "h.example"), use("b", "y", 2, "h.example")}, ""},
		"asked before it is recorded too": {"", []Use{use("a", "x", 1, "h.example")}, ""},
	} {
		table := New()
		for _, one := range c.uses {
			table.Put(one, "")
		}
		elder, found := table.Elder(c.uses[len(c.uses)-1], c.domain)
		if got := elder.String(); found != (c.want != "") || found && got != c.want {
			t.Errorf("%s: %s, want %q", name, got, c.want)
		}
	}
	if _, found := (*Table)(nil).Elder(use("a", "x", 1, ""), ""); found {
		t.Error("no table has an elder")
	}
}

// A change returns each custom resource whose elder it changes, and at most five: what the use was next to before and is now, and itself.
//
// Proves: R62.
func TestPutAndRemoveReturnTheConcerned(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, domain := range []string{"", "example"} {
		table := New()
		elders := map[types.NamespacedName]types.NamespacedName{}
		for range 3000 {
			hostname := []string{"", "", "h.example", "a-b-c.example", "a-b-c.other"}[random.IntN(5)]
			c := use([]string{"c", "b-c"}[random.IntN(2)], []string{"a", "a-b", "x", "y"}[random.IntN(4)], random.IntN(9), hostname)
			var concerned []types.NamespacedName
			if random.IntN(4) == 0 {
				concerned = append(table.Remove(c.Name, domain), c.Name)
			} else {
				concerned = append(table.Put(c, domain), c.Name)
			}
			if len(concerned) > 6 {
				t.Fatalf("%d are concerned", len(concerned))
			}
			now := map[types.NamespacedName]types.NamespacedName{}
			for name, c := range table.uses {
				if elder, found := table.Elder(c, domain); found {
					now[name] = elder
				}
				if now[name] != elders[name] && !slices.Contains(concerned, name) {
					t.Fatalf("%s has the elder %s instead of %s, and is not among %v", name, now[name], elders[name], concerned)
				}
			}
			elders = now
		}
	}
}

// 10,000 custom resources use the same: the worst case.
func BenchmarkTable(b *testing.B) {
	const count = 10_000
	for b.Loop() {
		table := New()
		for i := range count {
			table.Put(use("ns", fmt.Sprintf("s%d", i), (i*7919)%count, ""), "")
		}
		for i := range count {
			table.Elder(use("ns", fmt.Sprintf("s%d", i), (i*7919)%count, ""), "")
		}
		for i := range count {
			table.Remove(types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("s%d", i)}, "")
		}
	}
}

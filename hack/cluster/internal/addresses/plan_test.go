// SPDX-License-Identifier: Apache-2.0

package addresses

import (
	"net/netip"
	"testing"
)

func plans(t *testing.T) []Plan {
	t.Helper()
	var list []Plan
	for i := range maxClusters {
		p, err := NewPlan(i)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestPlansNeverMeet(t *testing.T) {
	seen := map[netip.Prefix]string{}
	links := map[string]bool{}
	for _, p := range plans(t) {
		if links[p.Link] {
			t.Errorf("two clusters have the link %s", p.Link)
		}
		links[p.Link] = true
		if len(p.Link) > 15 {
			t.Errorf("%s: the kernel takes at most 15 bytes", p.Link)
		}
		for _, r := range p.Ranges() {
			if r != r.Masked() {
				t.Errorf("%s: %s has bits beyond its mask", p.Link, r)
			}
			for other, link := range seen {
				if other.Overlaps(r) {
					t.Errorf("%s of %s overlaps %s of %s", r, p.Link, other, link)
				}
			}
			seen[r] = p.Link
		}
		if !p.Net.Contains(p.Host) || !p.Net.Contains(p.Node) || p.Host == p.Node {
			t.Errorf("%s: addresses %s and %s in %s", p.Link, p.Host, p.Node, p.Net)
		}
	}
}

func TestPlanBounds(t *testing.T) {
	for _, index := range []int{-1, maxClusters} {
		if _, err := NewPlan(index); err == nil {
			t.Errorf("index %d: no error", index)
		}
	}
}

func TestPlanConflict(t *testing.T) {
	p := plans(t)[1]
	for _, c := range []struct {
		used string
		want bool
	}{
		{"0.0.0.0/0", false},
		{"10.0.0.0/8", false},   // wider: the plan's routes win
		{"10.88.1.0/24", true},  // the same
		{"10.96.20.0/24", true}, // narrower: it would win
		{"10.88.2.0/24", false}, // another plan's
		{"192.168.0.0/16", false},
	} {
		if _, got := p.conflict([]netip.Prefix{netip.MustParsePrefix(c.used)}); got != c.want {
			t.Errorf("%s: conflict %v, want %v", c.used, got, c.want)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"math"
	"math/bits"
	"net/netip"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// publicShare is the share of all addresses above which networks count as public: eight times the largest private
// network.
const publicShare = 1.0 / 32

// isNetwork reports whether the server accepts a text as a network: an address with an optional prefix length or mask.
func isNetwork(text string) bool {
	_, ok := parseNetwork(text)
	return ok
}

// network is the size of an IPv4 or IPv6 network.
type network struct {
	v4     bool
	length int
}

// parseNetwork returns the size of a network, or false for an invalid one. IPv4-mapped IPv6 addresses count as IPv4.
func parseNetwork(text string) (network, bool) {
	host, mask, masked := strings.Cut(strings.TrimSpace(text), "/")
	address, err := netip.ParseAddr(host)
	if err != nil {
		return network{}, false
	}
	n := network{address.Is4(), address.BitLen()}
	if prefix, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
		n.length = prefix.Bits()
	} else if masked {
		m, err := netip.ParseAddr(mask)
		if err != nil {
			return network{}, false
		}
		n.length = maskLength(m)
	}
	if within := n.length - (address.BitLen() - 32); address.Is4In6() && within >= 0 {
		return network{true, within}, true
	}
	return n, true
}

// maskLength returns the prefix length of a netmask or hostmask.
func maskLength(mask netip.Addr) int {
	ones := 0
	for _, b := range mask.AsSlice() {
		ones += bits.OnesCount8(b)
	}
	if mask.AsSlice()[0] < 0x80 && ones > 0 { // a hostmask
		return mask.BitLen() - ones
	}
	return ones
}

// warnPublicNetworks warns if trusted networks cover so many addresses that almost everyone can act as the proxy.
func (s *step) warnPublicNetworks(path string, networks []any) {
	share := map[bool]float64{}
	for i, item := range networks {
		text, _ := item.(string)
		n, ok := parseNetwork(text)
		if !ok {
			continue
		}
		share[n.v4] += math.Pow(2, -float64(n.length))
		if share[n.v4] > publicShare {
			s.problems.Add(problem.Problem{
				Reason: problem.Unprotected, Severity: problem.Warning, Path: fmt.Sprintf("%s[%d]", path, i),
				Detail: "trusts the headers of almost every client: clients can impersonate any user",
				Fix:    "list only the networks of the proxy, for example 10.244.0.0/16",
			})
			return
		}
	}
}

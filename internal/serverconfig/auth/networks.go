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

// everyone is the share of all addresses from which on networks are those of anyone: eight of the largest private
// network.
const everyone = 1.0 / 32

// isNetwork reports whether the server takes a text for a network: an address, alone or with a length or a mask.
func isNetwork(text string) bool {
	_, ok := lengthOf(text)
	return ok
}

// network is the size of a network: the length of its prefix, of IPv4 or of IPv6.
type network struct {
	v4     bool
	length int
}

// lengthOf returns the size of a network; false where the text is not one. An address of IPv4 within IPv6 counts as the
// former.
func lengthOf(text string) (network, bool) {
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

// maskLength is the length that a mask says: of its ones, or of its zeros where it begins with these.
func maskLength(mask netip.Addr) int {
	ones := 0
	for _, b := range mask.AsSlice() {
		ones += bits.OnesCount8(b)
	}
	if mask.AsSlice()[0] < 0x80 && ones > 0 { // a mask of the host's part
		return mask.BitLen() - ones
	}
	return ones
}

// warnEveryone warns of networks that hold almost all addresses: then anyone may do what only a proxy should.
func (s *step) warnEveryone(path string, networks []any) {
	share := map[bool]float64{}
	for i, item := range networks {
		text, _ := item.(string)
		n, ok := lengthOf(text)
		if !ok {
			continue
		}
		share[n.v4] += math.Pow(2, -float64(n.length))
		if share[n.v4] > everyone {
			s.problems.Add(problem.Problem{
				Reason: problem.Unprotected, Severity: problem.Warning, Path: fmt.Sprintf("%s[%d]", path, i),
				Detail: "lets the server believe the headers of almost everyone who reaches it: they can pretend to be anyone",
				Fix:    "name the networks of the proxy alone, for example 10.244.0.0/16",
			})
			return
		}
	}
}

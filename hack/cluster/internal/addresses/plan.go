// SPDX-License-Identifier: Apache-2.0

package addresses

import (
	"fmt"
	"net/netip"
)

// maxClusters is how many node-tier clusters one machine can hold at a time.
const maxClusters = 16

// Plan is the names and addresses of one node-tier cluster. They all derive from
// an index that the cluster holds alone, so that clusters side by side never meet.
type Plan struct {
	Index int
	// Link names the machine's end of the virtual link, and the cgroup.
	Link string
	// Net is the range of the link: Host is the machine's end, Node the cluster's.
	Net        netip.Prefix
	Host, Node netip.Addr
	// Services and Pods are routed by the machine to Node.
	Services, Pods netip.Prefix
}

// NewPlan returns the plan of an index from 0 to maxClusters-1.
func NewPlan(index int) (Plan, error) {
	if index < 0 || index >= maxClusters {
		return Plan{}, fmt.Errorf("cluster index %d: must be 0 to %d", index, maxClusters-1)
	}
	i := byte(index)
	return Plan{
		Index:    index,
		Link:     fmt.Sprintf("llsd%d", index),
		Net:      netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 30, i, 0}), 30),
		Node:     netip.AddrFrom4([4]byte{172, 30, i, 1}),
		Host:     netip.AddrFrom4([4]byte{172, 30, i, 2}),
		Services: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, i * 16, 0}), 20),
		Pods:     netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 88, i, 0}), 24),
	}, nil
}

// Ranges are the networks that belong to the cluster.
func (p Plan) Ranges() []netip.Prefix { return []netip.Prefix{p.Net, p.Services, p.Pods} }

// conflict returns a range of the machine that a range of the plan would hide or
// be hidden by. A wider one, such as a default route, does no harm: the plan's
// own routes are more specific.
func (p Plan) conflict(used []netip.Prefix) (netip.Prefix, bool) {
	for _, own := range p.Ranges() {
		for _, other := range used {
			if other.Overlaps(own) && other.Bits() >= own.Bits() {
				return other, true
			}
		}
	}
	return netip.Prefix{}, false
}

// registryPort is where the node serves the image registry.
const registryPort = 5000

// Registry is the host:port of the image registry.
func (p Plan) Registry() string { return netip.AddrPortFrom(p.Node, registryPort).String() }

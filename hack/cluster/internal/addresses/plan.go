// SPDX-License-Identifier: Apache-2.0

package addresses

import (
	"fmt"
	"net/netip"
)

// maxClusters bounds the concurrent node-tier clusters of one machine.
const maxClusters = 16

// Plan has the names and addresses of one node-tier cluster. They derive from the cluster's unique index, so that
// clusters do not conflict.
type Plan struct {
	Index int
	// Link is the name of the machine's end of the virtual link, and of the cgroup.
	Link string
	// Net is the range of the link, with the machine's end Host and the cluster's end Node.
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

// Ranges returns the networks that belong to the cluster.
func (p Plan) Ranges() []netip.Prefix { return []netip.Prefix{p.Net, p.Services, p.Pods} }

// conflict returns a range of the machine that is equal to or within a range of the plan. A wider one, such as a
// default route, does not conflict: the plan's routes are more specific.
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

const registryPort = 5000

// Registry returns the host:port of the image registry.
func (p Plan) Registry() string { return netip.AddrPortFrom(p.Node, registryPort).String() }

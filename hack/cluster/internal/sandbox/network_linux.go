// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"math/bits"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/addresses"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/host"
)

// nodeLink is the cluster's end of the virtual link.
const nodeLink = "node0"

// fallbackMetric makes a route the last choice.
const fallbackMetric = "1048576"

// JoinNetwork links the machine to the network namespace of the process pid and
// routes the plan's ranges there, before anything could talk to them. Routes of
// last resort refuse these ranges: should the link vanish with its cluster, no
// packet for it leaves the machine. Nothing from the link is ever forwarded.
func JoinNetwork(ctx context.Context, plan addresses.Plan, pid int) error {
	if err := deleteLink(ctx, plan); err != nil {
		return err
	}
	node := plan.Node.String()
	var steps [][]string
	for _, r := range plan.Ranges() {
		steps = append(steps, []string{"route", "replace", "unreachable", r.String(), "metric", fallbackMetric})
	}
	steps = append(steps,
		[]string{"link", "add", plan.Link, "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		[]string{"address", "add", netip.PrefixFrom(plan.Host, plan.Net.Bits()).String(), "dev", plan.Link},
	)
	if err := ipCommands(ctx, steps); err != nil {
		return err
	}
	if err := sysctl("net/ipv4/conf/"+plan.Link+"/forwarding", "0"); err != nil {
		return err
	}
	if err := withoutIPv6(plan.Link); err != nil {
		return err
	}
	return ipCommands(ctx, [][]string{
		{"link", "set", plan.Link, "up"},
		{"route", "replace", plan.Services.String(), "via", node, "dev", plan.Link},
		{"route", "replace", plan.Pods.String(), "via", node, "dev", plan.Link},
	})
}

// LeaveNetwork removes what joinNetwork made and the end of the cluster's
// namespace did not remove.
func LeaveNetwork(ctx context.Context, plan addresses.Plan) error {
	if err := deleteLink(ctx, plan); err != nil {
		return err
	}
	for _, r := range plan.Ranges() {
		err := ipCommands(ctx, [][]string{{"route", "delete", "unreachable", r.String(), "metric", fallbackMetric}})
		if err != nil && !strings.Contains(err.Error(), "No such process") { // what ip says for "no such route"
			return err
		}
	}
	return nil
}

// deleteLink removes the link of a cluster that ended. The kernel does so too,
// but not at once.
func deleteLink(ctx context.Context, plan addresses.Plan) error {
	err := ipCommands(ctx, [][]string{{"link", "delete", plan.Link}})
	if err != nil && strings.Contains(err.Error(), "Cannot find device") {
		return nil
	}
	return err
}

// SetUpNetwork is the other half, inside the cluster's network namespace. It
// gets no default route: only the machine's end of the link is reachable.
func SetUpNetwork(ctx context.Context, plan addresses.Plan) error {
	if err := withoutIPv6(nodeLink); err != nil {
		return err
	}
	if err := sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	// A pod learns at once, each time, that there is no way out; the kernel's limit
	// on such answers would turn some into time-outs.
	if err := sysctl("net/ipv4/icmp_ratelimit", "0"); err != nil {
		return err
	}
	return ipCommands(ctx, [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", netip.PrefixFrom(plan.Node, plan.Net.Bits()).String(), "dev", nodeLink},
		{"link", "set", nodeLink, "up"},
		// The kernel wants a route before kube-proxy's rules rewrite the address.
		{"route", "add", plan.Services.String(), "dev", nodeLink, "src", plan.Node.String()},
		// Everything else fails at once, not after a time-out; pods' own routes are more specific.
		{"route", "add", "unreachable", "default"},
	})
}

func ipCommands(ctx context.Context, commands [][]string) error {
	for _, args := range commands {
		if err := host.Command(ctx, "ip", args...); err != nil {
			return err
		}
	}
	return nil
}

func sysctl(name, value string) error {
	return os.WriteFile("/proc/sys/"+name, []byte(value), 0o644)
}

// withoutIPv6 keeps the kernel from talking IPv6 over a link by itself.
func withoutIPv6(link string) error {
	err := sysctl("net/ipv6/conf/"+link+"/disable_ipv6", "1")
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
	return err
}

// UsedRanges lists the destinations that the machine has routes for.
func UsedRanges() ([]netip.Prefix, error) {
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var list []netip.Prefix
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if r, ok := parseRoute(lines.Text()); ok {
			list = append(list, r)
		}
	}
	return list, lines.Err()
}

// parseRoute takes the destination from a line of /proc/net/route. It reports
// false for the heading and for routes that refuse, which have no device.
func parseRoute(line string) (netip.Prefix, bool) {
	fields := strings.Fields(line)
	if len(fields) < 8 || fields[0] == "*" {
		return netip.Prefix{}, false
	}
	destination, err := hex.DecodeString(fields[1])
	if err != nil || len(destination) != 4 {
		return netip.Prefix{}, false
	}
	slices.Reverse(destination) // the kernel prints the number, least significant byte last
	mask, err := strconv.ParseUint(fields[7], 16, 32)
	if err != nil {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(destination)), bits.OnesCount64(mask)), true
}

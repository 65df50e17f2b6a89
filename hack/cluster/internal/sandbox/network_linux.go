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

// fallbackMetric gives a route the lowest priority.
const fallbackMetric = "1048576"

// JoinNetwork links the machine to the network namespace of the process pid and routes the plan's ranges there.
// Unreachable routes of the lowest priority keep packets on the machine if the link vanishes with its cluster, and
// traffic from the link is never forwarded.
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
	if err := disableIPv6(plan.Link); err != nil {
		return err
	}
	return ipCommands(ctx, [][]string{
		{"link", "set", plan.Link, "up"},
		{"route", "replace", plan.Services.String(), "via", node, "dev", plan.Link},
		{"route", "replace", plan.Pods.String(), "via", node, "dev", plan.Link},
	})
}

// LeaveNetwork removes the parts of JoinNetwork that outlive the cluster's network namespace.
func LeaveNetwork(ctx context.Context, plan addresses.Plan) error {
	if err := deleteLink(ctx, plan); err != nil {
		return err
	}
	for _, r := range plan.Ranges() {
		err := ipCommands(ctx, [][]string{{"route", "delete", "unreachable", r.String(), "metric", fallbackMetric}})
		if err != nil && !strings.Contains(err.Error(), "No such process") { // the message of ip for a missing route
			return err
		}
	}
	return nil
}

// deleteLink removes the link of a stopped cluster, which the kernel removes only after a while.
func deleteLink(ctx context.Context, plan addresses.Plan) error {
	err := ipCommands(ctx, [][]string{{"link", "delete", plan.Link}})
	if err != nil && strings.Contains(err.Error(), "Cannot find device") {
		return nil
	}
	return err
}

// SetUpNetwork sets up the cluster's network namespace. It gets no default route: only the machine's end of the link is
// reachable.
func SetUpNetwork(ctx context.Context, plan addresses.Plan) error {
	if err := disableIPv6(nodeLink); err != nil {
		return err
	}
	if err := sysctl("net/ipv4/ip_forward", "1"); err != nil {
		return err
	}
	// Pods must get an immediate error for each connection to the outside; the kernel's limit on such replies would turn
	// some into timeouts.
	if err := sysctl("net/ipv4/icmp_ratelimit", "0"); err != nil {
		return err
	}
	return ipCommands(ctx, [][]string{
		{"link", "set", "lo", "up"},
		{"address", "add", netip.PrefixFrom(plan.Node, plan.Net.Bits()).String(), "dev", nodeLink},
		{"link", "set", nodeLink, "up"},
		// The kernel needs a route before kube-proxy's rules rewrite the address.
		{"route", "add", plan.Services.String(), "dev", nodeLink, "src", plan.Node.String()},
		// All other connections fail at once; the pods' routes are more specific.
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

func disableIPv6(link string) error {
	err := sysctl("net/ipv6/conf/"+link+"/disable_ipv6", "1")
	if errors.Is(err, os.ErrNotExist) {
		return nil // a kernel without IPv6
	}
	return err
}

// UsedRanges returns the destinations of the machine's routes.
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

// parseRoute returns the destination in a line of /proc/net/route, and false for the heading and for unreachable
// routes, which have no device.
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

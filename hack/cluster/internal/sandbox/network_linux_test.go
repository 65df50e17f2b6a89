// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sandbox

import (
	"net/netip"
	"testing"
)

func TestParseRoute(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       netip.Prefix
		ok         bool
	}{
		{"heading", "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT", netip.Prefix{}, false},
		{"network", "eth0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0", netip.MustParsePrefix("172.17.0.0/16"), true},
		{"default", "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0", netip.MustParsePrefix("0.0.0.0/0"), true},
		{"one that refuses", "*\t00001EAC\t00000000\t0200\t0\t0\t1048576\tFCFFFFFF\t0\t0\t0", netip.Prefix{}, false},
	} {
		got, ok := parseRoute(c.line)
		if ok != c.ok || got != c.want {
			t.Errorf("%s: got %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

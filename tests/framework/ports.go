// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports of servers are below the ephemeral range, so that no outgoing connection takes a port between FreePort and the
// listener.
const (
	firstPort = 20000
	lastPort  = 32000
)

var ports = struct {
	sync.Mutex
	next int
}{next: firstPort + rand.IntN(lastPort-firstPort)} //nolint:gosec // so that processes rarely look at the same port

// FreePort returns an unused port of a local address. Calls of the same process return different ports.
func FreePort(t testing.TB, host string) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	var err error
	for range lastPort - firstPort {
		port := ports.next
		ports.next = firstPort + (port+1-firstPort)%(lastPort-firstPort)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no port of %s is free: %v", host, err)
	return 0
}

// FreeAddress returns an unused loopback address as HOST:PORT.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort(Loopback, strconv.Itoa(FreePort(t, Loopback)))
}

// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// unavailableResponse answers a connection without a request: API servers retry after a 503, but not after a closed
	// connection.
	unavailableResponse = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n" +
		"Content-Length: 0\r\nRetry-After: 0\r\n\r\n"
	// closeTimeout bounds the wait for clients to close their connections.
	closeTimeout = time.Second
)

// Connections tracks the new and idle connections of a server.
type Connections struct {
	// limit is the limit of new and idle connections.
	limit int

	mu sync.Mutex
	// waiting holds the connections, oldest first.
	waiting []net.Conn
}

// LimitConnections limits the connections of the server, which must serve the returned listener. If more than half of
// the limit are new or idle, it closes the oldest of them.
func LimitConnections(server *http.Server, listener net.Listener, limit int) (net.Listener, *Connections) {
	c := &Connections{limit: limit / 2}
	server.ConnState = c.trackState
	return netutil.LimitListener(listener, limit), c
}

// trackState implements http.Server.ConnState.
func (c *Connections) trackState(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other net.Conn) bool { return other == conn })
	if state != http.StateNew && state != http.StateIdle {
		return
	}
	c.waiting = append(c.waiting, conn)
	if len(c.waiting) > c.limit {
		go c.waiting[0].Close() //nolint:errcheck // TLS may wait until its client reads
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// closeIdle sends unavailableResponse on each waiting connection and waits up to closeTimeout for clients to close
// them.
func (c *Connections) closeIdle(ctx context.Context) {
	c.mu.Lock()
	for _, conn := range c.waiting {
		go func() {
			if conn.SetWriteDeadline(time.Now().Add(closeTimeout)) == nil {
				_, _ = conn.Write([]byte(unavailableResponse))
			}
		}()
	}
	c.mu.Unlock()
	_ = wait.PollUntilContextTimeout(ctx, closeTimeout/50, closeTimeout, true, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) == 0, nil
	})
}

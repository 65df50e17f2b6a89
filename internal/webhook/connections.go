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
	// retryElsewhere answers a request that has not arrived yet. An API server repeats a request with this answer,
	// but not one that meets the end of its connection.
	retryElsewhere = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n" +
		"Content-Length: 0\r\nRetry-After: 0\r\n\r\n"
	// dismissTimeout bounds how long clients take to close connections with this answer.
	dismissTimeout = time.Second
)

// Connections are the connections of a server on which no request has arrived: new and idle ones.
type Connections struct {
	// most is how many of them stay open.
	most int

	mu sync.Mutex
	// waiting has the oldest connection first.
	waiting []net.Conn
}

// LimitConnections bounds the connections of a server, which must serve the returned listener. While more than half of
// the limit wait for a request, the oldest of these are closed, so clients that send nothing do not block others.
func LimitConnections(server *http.Server, listener net.Listener, limit int) (net.Listener, *Connections) {
	c := &Connections{most: limit / 2}
	server.ConnState = c.note
	return netutil.LimitListener(listener, limit), c
}

// note records the state of a connection.
func (c *Connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other net.Conn) bool { return other == conn })
	if state != http.StateNew && state != http.StateIdle {
		return
	}
	c.waiting = append(c.waiting, conn)
	if len(c.waiting) > c.most {
		go c.waiting[0].Close() //nolint:errcheck // TLS may wait until its client reads
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
}

// dismiss sends retryElsewhere on each waiting connection, and waits until the clients have closed them, at most for
// dismissTimeout.
func (c *Connections) dismiss(ctx context.Context) {
	c.mu.Lock()
	for _, conn := range c.waiting {
		go func() {
			if conn.SetWriteDeadline(time.Now().Add(dismissTimeout)) == nil {
				_, _ = conn.Write([]byte(retryElsewhere))
			}
		}()
	}
	c.mu.Unlock()
	_ = wait.PollUntilContextTimeout(ctx, dismissTimeout/50, dismissTimeout, true, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.waiting) == 0, nil
	})
}

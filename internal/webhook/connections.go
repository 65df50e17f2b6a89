// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net"
	"slices"
	"sync"
)

// connections bounds how many connections there are. When all are taken, a new one takes the place of one whose client has yet to send a
// whole request, or else of one that is idle: who opens connections and says nothing delays nobody. While requests are answered on all of
// them, new ones wait to be accepted.
type connections struct {
	net.Listener
	limit int

	mu sync.Mutex
	// changed reports that a connection was closed or became idle, or that the listener was closed.
	changed sync.Cond
	// open are the connections, those that wait for their clients longest first.
	open   []*connection
	closed bool
}

// connectionState is what a connection waits for.
type connectionState int

const (
	// silent: the client has not sent a whole request since the connection was opened, or since its last answer.
	silent connectionState = iota
	// idle: the last request was answered.
	idle
	// asked: a request is being answered.
	asked
)

// connection is one of the connections.
type connection struct {
	net.Conn
	of    *connections
	from  string
	state connectionState
}

func newConnections(listener net.Listener, limit int) *connections {
	l := &connections{Listener: listener, limit: limit}
	l.changed.L = &l.mu
	return l
}

// Accept waits for the next connection, and closes another one for it where there are too many.
func (l *connections) Accept() (net.Conn, error) {
	if !l.awaitSlot() {
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	c := &connection{Conn: conn, of: l, from: host}
	l.mu.Lock()
	var shed *connection
	if len(l.open) >= l.limit {
		shed = l.dispensable() // of the others: the new one is silent, too
	}
	l.open = append(l.open, c)
	l.mu.Unlock()
	if shed != nil {
		_ = shed.Close() // its client hears of it
	}
	return c, nil
}

// awaitSlot waits until a connection can be accepted; false when the listener was closed.
func (l *connections) awaitSlot() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.open) >= l.limit && l.dispensable() == nil {
		l.changed.Wait()
	}
	return !l.closed
}

// dispensable is the connection that is closed first: a silent one, else an idle one, of the address that has most of these, and of
// those the one that waits longest; nil where all are being answered.
func (l *connections) dispensable() *connection {
	for _, state := range []connectionState{silent, idle} {
		count := map[string]int{}
		for _, c := range l.open {
			if c.state == state {
				count[c.from]++
			}
		}
		var first *connection
		for _, c := range l.open {
			if c.state == state && (first == nil || count[c.from] > count[first.from]) {
				first = c
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// count is the number of connections.
func (l *connections) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Close ends accepting.
func (l *connections) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// Close closes the connection and gives its place to another.
func (c *connection) Close() error {
	c.of.mu.Lock()
	if i := slices.Index(c.of.open, c); i >= 0 {
		c.of.open = slices.Delete(c.of.open, i, i+1)
		c.of.changed.Broadcast()
	}
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// set notes what the connection waits for from now on.
func (c *connection) set(state connectionState) {
	l := c.of
	l.mu.Lock()
	defer l.mu.Unlock()
	c.state = state
	if i := slices.Index(l.open, c); i >= 0 {
		l.open = append(slices.Delete(l.open, i, i+1), c)
		l.changed.Broadcast()
	}
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// received notes that the whole request was read.
func received(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok { // recorders of tests have none
		c.set(asked)
	}
}

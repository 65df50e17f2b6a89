// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Listener bounds how many connections there are. While requests are answered on all of them, new ones wait to be accepted.
type Listener struct {
	net.Listener
	limit    int
	patience time.Duration

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

// phase is how far a connection of TLS has come in its first request. The deadlines that its server sets show it.
type phase int

const (
	// handshaking: until the server takes the deadline of the handshake away.
	handshaking phase = iota
	// open: the server has yet to set the deadline of the first header.
	open
	// unused: the client has sent nothing since.
	unused
	// used: the first header is being read.
	used
	// passed: the server has set a further deadline, that of the whole request. No deadline is changed from now on.
	passed
)

// connection is one of the connections.
type connection struct {
	net.Conn
	of    *Listener
	from  string
	state connectionState
	// outer is what the server reads and writes: this connection, or TLS over it; nil until the server has begun.
	outer net.Conn

	// These are of the server's goroutine alone: its deadline of the first header, when it was set, and how much later that header began.
	phase  phase
	header time.Time
	since  time.Time
	late   time.Duration
}

// Limit bounds the connections of a listener.
//
// Patience is how long a client of TLS may keep a connection without a first request; zero means as long as the server gives a header. A pool of connections
// has some that were never used, because another one was free before they were open. A server that closes them after the time for a header, which it counts
// from the handshake on, can meet a request that is on its way: that one is lost.
func Limit(listener net.Listener, limit int, patience time.Duration) *Listener {
	l := &Listener{Listener: listener, limit: limit, patience: patience}
	l.changed.L = &l.mu
	return l
}

// Observe makes a server that serves a Listener, or TLS over one, report to it which connections are idle. Its handlers call Received.
func Observe(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c := of(conn)
		switch {
		case c == nil:
		case state == http.StateNew:
			c.of.mu.Lock()
			defer c.of.mu.Unlock()
			c.outer = conn
		case state == http.StateIdle:
			c.set(idle)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, of(conn))
	}
}

// of returns the connection that TLS may run over.
func of(conn net.Conn) *connection {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return c
}

// Accept waits for the next connection, and closes another one for it where there are too many. While requests are answered on all of them, it waits
// with the new one.
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	c := &connection{Conn: conn, of: l, from: host}
	shed, ok := l.add(c)
	if !ok {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	if shed != nil {
		_ = shed.Close() // its client hears of it
	}
	return c, nil
}

// add adds a connection when there is a place for it, and returns the one whose place that is, if any; false when the listener was closed.
func (l *Listener) add(c *connection) (shed *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.open) >= l.limit {
		if shed = l.dispensable(); shed != nil { // one of the others: the new one is silent, too
			l.open = slices.DeleteFunc(l.open, func(other *connection) bool { return other == shed })
			break
		}
		l.changed.Wait()
	}
	if !l.closed {
		l.open = append(l.open, c)
	}
	return shed, !l.closed
}

// dispensable is the connection that is closed first: a silent one, else an idle one, of the address that has most of these, and of
// those the one that waits longest; nil where all are being answered.
func (l *Listener) dispensable() *connection {
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

// Count is the number of connections.
func (l *Listener) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Dismiss sends an answer on each connection on which none is being prepared, and waits until their clients have closed them, no longer than the
// timeout. A client that has nothing to ask closes a connection on which it is answered. The request of one that asks at this very moment has an answer,
// where it would be lost with a connection that just ends.
func (l *Listener) Dismiss(answer []byte, timeout time.Duration) {
	deadline := time.Now().Add(timeout)
	timer := time.AfterFunc(timeout, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	dismissed := map[*connection]bool{}
	for _, c := range l.open {
		if c.state != asked && c.outer != nil {
			dismissed[c] = true
			go answerAt(c.outer, answer, deadline) // the question whether a handshake is complete waits for one
		}
	}
	for slices.ContainsFunc(l.open, func(c *connection) bool { return dismissed[c] }) && time.Now().Before(deadline) {
		l.changed.Wait()
	}
}

// answerAt writes an answer until the deadline, unless TLS is yet to begin. Where it fails, the connection has ended.
func answerAt(conn net.Conn, answer []byte, deadline time.Time) {
	if secure, ok := conn.(*tls.Conn); ok && !secure.ConnectionState().HandshakeComplete {
		return
	}
	if conn.SetWriteDeadline(deadline) == nil {
		_, _ = conn.Write(answer)
	}
}

// Crowded reports whether more than half of the connections are taken: answers then close theirs, so that clients that never end one
// use up none for long.
func (l *Listener) Crowded() bool { return l.Count() > l.limit/2 }

// Close ends accepting.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// SetReadDeadline sets the deadline of what the server reads next. Those of the first header and of its request are counted from the first byte on.
func (c *connection) SetReadDeadline(at time.Time) error {
	switch {
	case c.of.patience == 0 || c.phase == passed:
	case c.phase == handshaking:
		if at.IsZero() {
			c.phase = open
		}
	case c.phase == open:
		if !at.IsZero() {
			c.phase, c.header, c.since = unused, at, time.Now()
			at = c.since.Add(c.of.patience)
		}
	default: // where the header came with the end of the handshake, it is not late
		c.phase = passed
		if !at.IsZero() {
			at = at.Add(c.late)
		}
	}
	return c.Conn.SetReadDeadline(at)
}

// Read reads what the client sends.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.phase == unused {
		c.phase, c.late = used, time.Since(c.since)
		_ = c.Conn.SetReadDeadline(c.header.Add(c.late)) // where it fails, the connection has ended, and the next read says so
	}
	return n, err
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

// Received notes, with the context of a request, that the whole request was read.
func Received(ctx context.Context) {
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok && c != nil { // recorders of tests have none
		c.set(asked)
	}
}

// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// Forwarder forwards each new connection to the next of its backends, as a Service on a node does.
type Forwarder struct {
	// Failover tries the next backend if one refuses the connection.
	Failover bool

	listener net.Listener
	mu       sync.Mutex
	backends []string
	next     int
	open     map[net.Conn]bool // whether data of the connection is forwarded
}

// StartForwarder listens at an address until the test ends.
func StartForwarder(t testing.TB, address string, backends ...string) *Forwarder {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	NoError(t, err)
	w := &Forwarder{listener: listener, backends: backends, open: map[net.Conn]bool{}}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { w.forward(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.CloseConnections()
		connections.Wait()
	})
	return w
}

// Address returns the address of the listener as HOST:PORT.
func (w *Forwarder) Address() string { return w.listener.Addr().String() }

// Port returns the port of Address.
func (w *Forwarder) Port() int { return w.listener.Addr().(*net.TCPAddr).Port }

// Add adds a backend.
func (w *Forwarder) Add(backend string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backends = append(w.backends, backend)
}

// Remove removes a backend and keeps the connections to it.
func (w *Forwarder) Remove(backend string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backends = slices.DeleteFunc(w.backends, func(b string) bool { return b == backend })
}

// Blackhole drops all data of the existing connections, and forwards new ones.
func (w *Forwarder) Blackhole() (connections int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.open {
		w.open[conn] = false
	}
	return len(w.open)
}

// CloseConnections closes all connections.
func (w *Forwarder) CloseConnections() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.open {
		_ = conn.Close()
	}
}

// Close removes all backends and closes all connections.
func (w *Forwarder) Close() {
	w.mu.Lock()
	w.backends = nil
	w.mu.Unlock()
	w.CloseConnections()
}

func (w *Forwarder) forward(caller net.Conn) {
	w.mu.Lock()
	w.next++
	backends := slices.Clone(w.backends)
	if n := len(backends); n > 0 {
		backends = append(backends[w.next%n:], backends[:w.next%n]...)
	}
	w.open[caller] = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.open, caller)
		w.mu.Unlock()
		_ = caller.Close()
	}()
	var server net.Conn
	for _, backend := range backends {
		var err error
		if server, err = net.Dial("tcp", backend); err == nil || !w.Failover {
			break
		}
	}
	if server == nil {
		return
	}
	defer func() { _ = server.Close() }()
	var both sync.WaitGroup
	for _, c := range [][2]net.Conn{{server, caller}, {caller, server}} {
		both.Go(func() {
			if w.pump(c[0], c[1], caller) != nil || c[0].(*net.TCPConn).CloseWrite() != nil {
				_, _ = caller.Close(), server.Close()
			}
		})
	}
	both.Wait()
}

// pump copies in one direction until the sender closes, and drops the data of a blackholed connection.
func (w *Forwarder) pump(to, from, caller net.Conn) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		passes := w.open[caller]
		w.mu.Unlock()
		if n > 0 && passes {
			if _, err := to.Write(buffer[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

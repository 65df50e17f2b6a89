// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"net"
	"slices"
	"sync"
	"testing"
)

// way forwards connections to the first of its backends that accepts one, as a Service does, and can be cut and silenced.
type way struct {
	listener net.Listener
	mu       sync.Mutex
	backends []string
	open     map[net.Conn]bool
	loud     *sync.Cond // waited for while silent
	silent   bool
}

// newWay listens at an address until the test ends.
func newWay(t *testing.T, address string, backends ...string) *way {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	w := &way{listener: listener, backends: backends, open: map[net.Conn]bool{}}
	w.loud = sync.NewCond(&w.mu)
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
		w.silence(false)
		w.cut()
		connections.Wait()
	})
	return w
}

func (w *way) address() string { return w.listener.Addr().String() }

func (w *way) add(backend string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backends = append(w.backends, backend)
}

func (w *way) remove(backend string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.backends = slices.DeleteFunc(w.backends, func(b string) bool { return b == backend })
}

// silence keeps everything back that is sent from now on, and closes nothing: what a network does that loses packets.
func (w *way) silence(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = on
	w.loud.Broadcast()
}

// abandon never forwards anything of the connections that exist, and lets new ones pass.
func (w *way) abandon() (connections int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.open {
		w.open[conn] = false
	}
	return len(w.open)
}

// cut ends all connections.
func (w *way) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for conn := range w.open {
		_ = conn.Close()
	}
}

func (w *way) forward(caller net.Conn) {
	w.mu.Lock()
	backends := slices.Clone(w.backends)
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
		if server, err = net.Dial("tcp", backend); err == nil {
			break
		}
	}
	if server == nil {
		return
	}
	var both sync.WaitGroup
	end := func() { _, _ = caller.Close(), server.Close() }
	both.Go(func() { defer end(); w.pump(server, caller, caller) })
	both.Go(func() { defer end(); w.pump(caller, server, caller) })
	both.Wait()
}

// pump copies in one direction until either end closes. What comes over an abandoned connection is swallowed.
func (w *way) pump(to, from, caller net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		w.mu.Lock()
		for w.silent {
			w.loud.Wait()
		}
		passes := w.open[caller]
		w.mu.Unlock()
		if n > 0 && passes {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

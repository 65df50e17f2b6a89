// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener with in-memory connections, which use the fake clock of the test.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (*pipes) Addr() net.Addr { return &net.UnixAddr{} }

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

// testPort serves the webhooks without TLS, with a fake clock.
type testPort struct {
	*Server
	t     *testing.T
	pipes *pipes
}

func newTestPort(t *testing.T, limit int, kinds ...Kind) *testPort {
	t.Helper()
	p := &testPort{&Server{mux: http.NewServeMux(), intake: NewIntake()}, t, &pipes{make(chan net.Conn), make(chan struct{})}}
	for _, kind := range kinds {
		p.Handle(kind)
	}
	p.http = p.newHTTP()
	var listener net.Listener
	listener, p.connections = LimitConnections(p.http, p.pipes, limit)
	ended := make(chan error)
	go func() { ended <- p.http.Serve(listener) }()
	t.Cleanup(func() {
		_ = p.http.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return p
}

// dial opens a connection without a request.
func (p *testPort) dial() *testClient {
	p.t.Helper()
	client, server := net.Pipe()
	p.pipes.accepted <- server
	synctest.Wait()
	p.t.Cleanup(func() { _ = client.Close() })
	return &testClient{client, bufio.NewReader(client)}
}

type testClient struct {
	net.Conn
	reader *bufio.Reader
}

// reply is a response or an error.
type reply struct {
	status     int
	last       bool
	retryAfter string
	err        error
}

// post sends a review with a part of its body.
func (c *testClient) post(path string, size int, body string) reply {
	go func() {
		_, _ = io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: a\r\nContent-Length: "+strconv.Itoa(size)+"\r\n\r\n"+body)
	}()
	return c.read()
}

func (c *testClient) read() reply {
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return reply{err: err}
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return reply{answer.StatusCode, answer.Close, answer.Header.Get("Retry-After"), errors.Join(err, answer.Body.Close())}
}

// ended reports whether the server closes the connection within the time.
func (c *testClient) ended(within time.Duration) bool {
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := io.Copy(io.Discard, c.reader)
	_ = c.SetReadDeadline(time.Time{})
	timeout := net.Error(nil)
	return !errors.As(err, &timeout)
}

func (p *testPort) want(name string, status int, got reply) {
	p.t.Helper()
	if got.err != nil || got.status != status {
		p.t.Errorf("%s: %+v, want %d", name, got, status)
	}
}

// withPath returns a Kind with another path.
func withPath(path string, k Kind) Kind {
	k.Path = path
	return k
}

// Proves: R63 (new connections replace the oldest one without a request; one with a request stays).
func TestWaitingConnectionsAreReplaced(t *testing.T) {
	for name, greeting := range map[string]string{
		"silent": "", "with a part of a header": "POST /a HTTP/1.1\r\nHost: a\r\n", "idle": "GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit = 8
				held := make(chan struct{})
				p := newTestPort(t, limit, withPath("/a", kind(1000, time.Minute, echo)), withPath("/held", kind(1000, time.Minute, func([]byte) ([]byte, error) {
					<-held
					return []byte("held"), nil
				})))
				began := time.Now()
				busy, done := p.dial(), make(chan struct{})
				go func() {
					defer close(done)
					p.want("the connection that is being answered", http.StatusOK, busy.post("/held", 0, ""))
				}()
				synctest.Wait()
				first := p.dial()
				for range 3 * limit {
					conn := p.dial()
					_, _ = io.WriteString(conn, greeting)
					if strings.HasSuffix(greeting, "\r\n\r\n") {
						conn.read()
					}
				}
				if !first.ended(time.Second) {
					t.Error("the oldest of many connections does not give way")
				}
				close(held)
				<-done
				p.want("a further connection", http.StatusOK, p.dial().post("/a", 1, "x"))
				if took := time.Since(began); took > 0 {
					t.Errorf("connections waited for each other: %s", took)
				}
			})
		})
	}
}

// Proves: R63, L-27 (an idle connection lives longer than in an API server's pool).
func TestServerBoundsTheTimeOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPort(t, 8, withPath("/a", kind(maxConversionReview, conversionWait, echo)),
			withPath("/slow", kind(maxConversionReview, conversionWait, func(body []byte) ([]byte, error) {
				<-time.After(bodyTimeout + time.Second)
				return body, nil
			})))
		took := func(want time.Duration, do func()) {
			t.Helper()
			began := time.Now()
			do()
			if time.Since(began) != want {
				t.Errorf("it took %s, want %s", time.Since(began), want)
			}
		}
		unused := p.dial()
		<-time.After(100 * time.Second)
		p.want("the first request of an old connection", http.StatusOK, unused.post("/a", 1, "x"))
		<-time.After(100 * time.Second)
		p.want("its second request", http.StatusOK, unused.post("/a", 1, "x"))
		took(bodyTimeout, func() {
			p.want("a body that does not come", http.StatusBadRequest, p.dial().post("/a", 10, "x"))
		})
		took(bodyTimeout, func() {
			conn := p.dial()
			p.want("a body for nothing that is served", http.StatusNotFound, conn.post("/none", 10, "x"))
			if !conn.ended(time.Minute) {
				t.Error("its connection stays")
			}
		})
		took(2*(bodyTimeout+time.Second), func() {
			var all sync.WaitGroup
			for range 2 { // one after the other
				conn := p.dial()
				all.Go(func() {
					p.want("a review that waits longer than its body may take", http.StatusOK, conn.post("/slow", 1, "x"))
				})
			}
			all.Wait()
		})
		deaf := p.dial()
		if _, err := io.WriteString(deaf, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("x", 100_000)); err != nil {
			t.Fatal(err)
		}
		<-time.After(responseTimeout + time.Second)
		synctest.Wait()
		if !p.intake.bodies.TryAcquire(memoryForBodies) {
			t.Error("an answer that is not read keeps its memory")
		}
	})
}

// Proves: R63 (slow bodies on all connections delay other clients by at most one body timeout).
func TestSlowBodiesDelayOthersForOneBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8
		p := newTestPort(t, limit, withPath("/a", kind(1000, time.Second, echo)))
		for range limit {
			go p.dial().post("/a", 10, "x")
			synctest.Wait()
		}
		began := time.Now()
		p.want("a further connection", http.StatusOK, p.dial().post("/a", 1, "x"))
		if took := time.Since(began); took != bodyTimeout {
			t.Errorf("it was answered after %s", took)
		}
	})
}

// Proves: L-27 (a terminating server closes connections without a request and completes started requests).
func TestShutdownClosesWaitingConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		p := newTestPort(t, 8, withPath("/held", kind(1000, time.Minute, func([]byte) ([]byte, error) {
			<-held
			return []byte("held"), nil
		})))
		unused, busy, done := p.dial(), p.dial(), make(chan struct{})
		go func() {
			defer close(done)
			p.want("a request that has begun", http.StatusOK, busy.post("/held", 0, ""))
		}()
		synctest.Wait()
		dismissed := make(chan struct{})
		go func() {
			defer close(dismissed)
			p.connections.closeIdle(t.Context())
		}()
		synctest.Wait()
		if got := unused.post("/none", 0, ""); got != (reply{http.StatusServiceUnavailable, true, "0", nil}) {
			t.Errorf("a request at this moment: %+v", got)
		}
		_ = unused.Close()
		<-dismissed
		close(held)
		<-done
	})
}

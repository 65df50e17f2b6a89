// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// smallPort serves a handler on few connections.
type smallPort struct {
	*testing.T
	*httptest.Server
	open *Listener
}

func newSmallPort(t *testing.T, limit int, handler http.HandlerFunc) *smallPort {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.Config.ReadHeaderTimeout = time.Minute // as servers have it
	p := &smallPort{T: t, Server: s, open: Limit(s.Listener, limit, time.Hour)}
	s.Listener = p.open
	Observe(s.Config)
	s.StartTLS()
	s.Client().Timeout = time.Minute
	t.Cleanup(s.Close)
	return p
}

// trust trusts the server by the name in its certificate.
func (p *smallPort) trust() *tls.Config {
	trust := p.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trust.ServerName = "example.com"
	return trust
}

// dial opens a connection from an address of this machine and says nothing.
func (p *smallPort) dial(from string) net.Conn {
	p.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(p.Context(), "tcp", p.open.Addr().String())
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(time.Minute))
	}
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = conn.Close() })
	return conn
}

// closed reports whether the server closes a connection within the deadline, a minute.
func closed(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 1))
	timeout := net.Error(nil)
	return err != nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

func (p *smallPort) ask() error {
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.URL, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := p.Client().Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}

func nothing(http.ResponseWriter, *http.Request) {}

// Proves: R63 (connections on which nothing is asked delay nobody, and the oldest of them gives way to a new one).
func TestSilentConnectionsGiveWay(t *testing.T) {
	p := newSmallPort(t, 4, nothing)
	var silent []net.Conn
	for range 40 {
		silent = append(silent, p.dial("127.0.0.1"))
	}
	if err := p.ask(); err != nil {
		t.Fatal(err)
	}
	for i, conn := range silent[:36] {
		if !closed(conn) {
			t.Errorf("connection %d is still open", i)
		}
	}
	if n := p.open.Count(); n > 4 {
		t.Errorf("%d connections are open", n)
	}
}

// Proves: R63 (who opens many connections closes his own with them).
func TestTheAddressWithMostSilentConnectionsGivesWay(t *testing.T) {
	p := newSmallPort(t, 4, nothing)
	other := p.dial("127.0.0.2")
	first := p.dial("127.0.0.1")
	for range 10 {
		p.dial("127.0.0.1")
	}
	if !closed(first) {
		t.Error("the first connection of the address with most of them is still open")
	}
	request := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	answer, err := over(t.Context(), other, p.trust(), request)
	if err != nil || !strings.Contains(answer, "200") {
		t.Errorf("the connection of another address: %q %v", answer, err)
	}
}

// Proves: R63 (a new connection takes the place of an idle one, and is not closed itself as the only silent one).
func TestNewConnectionTakesThePlaceOfAnIdleOne(t *testing.T) {
	p := newSmallPort(t, 2, nothing)
	const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for i := range 5 {
		answer, err := over(t.Context(), p.dial("127.0.0.1"), p.trust(), request)
		if err != nil || !strings.Contains(answer, "200") {
			t.Fatalf("connection %d: %q %v", i, answer, err)
		}
		if !p.allIdle() {
			t.Fatalf("connection %d does not become idle", i)
		}
	}
}

// allIdle waits until all connections are idle.
func (p *smallPort) allIdle() bool {
	p.open.mu.Lock()
	defer p.open.mu.Unlock()
	timer := time.AfterFunc(time.Minute, p.open.changed.Broadcast)
	defer timer.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); p.open.changed.Wait() {
		if !slices.ContainsFunc(p.open.open, func(c *connection) bool { return c.state != idle }) {
			return true
		}
	}
	return false
}

// Proves: R63 (a connection on which a request is answered is not closed for another one; new ones wait meanwhile).
func TestConnectionsThatAreAnsweredStay(t *testing.T) {
	begun, held := make(chan struct{}), make(chan struct{})
	p := newSmallPort(t, 2, func(_ http.ResponseWriter, r *http.Request) {
		Received(r.Context())
		begun <- struct{}{}
		<-held
	})
	answers := make(chan error, 3)
	for range 2 {
		go func() { answers <- p.ask() }()
		<-begun
	}
	go func() { answers <- p.ask() }()
	p.open.mu.Lock()
	if c := p.open.dispensable(); c != nil {
		t.Errorf("a connection with a request is closed for another: %+v", c)
	}
	p.open.mu.Unlock()
	close(held)
	<-begun
	for range 3 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// over sends a request over a connection and returns the first line of the answer.
func over(ctx context.Context, conn net.Conn, config *tls.Config, request string) (string, error) {
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return "", err
	}
	if _, err := io.WriteString(secure, request); err != nil {
		return "", err
	}
	return bufio.NewReader(secure).ReadString('\n')
}

// Proves: R63 (there are never more connections than the limit, also where each is answered only after it was accepted).
func TestBusyConnectionsAreNeverMoreThanTheLimit(t *testing.T) {
	const limit = 2
	release := make(chan struct{})
	busy := make(chan struct{}, 10)
	p := newSmallPort(t, limit, func(_ http.ResponseWriter, r *http.Request) {
		Received(r.Context())
		busy <- struct{}{}
		<-release
	})
	answered, others := make(chan error, limit), make(chan struct{}, 4)
	for range limit {
		go func() { answered <- p.ask() }()
		<-busy
	}
	for range cap(others) {
		go func() {
			_ = p.ask() // one that is still silent may give way to another
			others <- struct{}{}
		}()
	}
	select {
	case <-busy:
		t.Error("a further request is answered while there are as many connections as may be")
	case <-time.After(200 * time.Millisecond): // a wrong listener needs far less
	}
	if got := p.open.Count(); got > limit {
		t.Errorf("%d connections, want at most %d", got, limit)
	}
	close(release)
	for range limit {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	for range cap(others) {
		<-others
	}
}

// together sends what follows its first write, the client's greeting, all at once.
type together struct {
	net.Conn
	greeted bool
	held    []byte
}

func (c *together) Write(b []byte) (int, error) {
	if !c.greeted {
		c.greeted = true
		return c.Conn.Write(b)
	}
	c.held = append(c.held, b...)
	return len(b), nil
}

// A request that comes in one packet with the end of the handshake is answered, and its connection is as any other: a server that ends does not wait for it.
func TestFirstRequestComesWithTheHandshake(t *testing.T) {
	p := newSmallPort(t, 2, func(http.ResponseWriter, *http.Request) {})
	conn := &together{Conn: p.dial("127.0.0.1")}
	secure := tls.Client(conn, p.trust())
	if err := secure.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(secure, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Conn.Write(conn.held); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(secure), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Config.Shutdown(ctx); err != nil {
		t.Errorf("the server does not end: %v", err)
	}
}

// pipe is a listener that has one connection, in memory: its time is that of the test's bubble.
type pipe struct {
	conns chan net.Conn
}

func (l pipe) Accept() (net.Conn, error) {
	if conn, ok := <-l.conns; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipe) Addr() net.Addr { return &net.UnixAddr{} }

func (l pipe) Close() error {
	close(l.conns)
	return nil
}

// A client may keep an unused connection for the patience. Its first request has the time that any other has, for header and body: both are counted from the
// first byte on.
func TestFirstRequestHasItsOwnTime(t *testing.T) {
	const header, whole, patience = 5 * time.Second, 30 * time.Second, 3 * time.Minute
	certificates := newSmallPort(t, 1, nothing)
	root, own := certificates.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, certificates.TLS.Certificates
	for name, test := range map[string]struct {
		// The client waits, sends a part of the header, waits, sends the rest of it, waits, and sends the body.
		unused, header, body time.Duration
		lost                 bool
	}{
		"at once":                   {},
		"after a while":             {unused: patience - time.Second, header: header - time.Second, body: whole - header},
		"too late":                  {unused: patience + time.Second, lost: true},
		"header too slow":           {header: header + time.Second, lost: true},
		"header too slow, later on": {unused: time.Minute, header: header + time.Second, lost: true},
		"body too slow":             {body: whole + time.Second, lost: true},
		"body too slow, later on":   {unused: time.Minute, body: whole + time.Second, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, served := net.Pipe()
				l := pipe{conns: make(chan net.Conn, 1)}
				l.conns <- served
				s := &http.Server{ReadHeaderTimeout: header, ReadTimeout: whole, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						panic(http.ErrAbortHandler)
					}
				})}
				open := Limit(l, 1, patience)
				Observe(s)
				ended := make(chan error, 1)
				go func() { ended <- s.Serve(tls.NewListener(open, &tls.Config{Certificates: own})) }()

				answered, err := first(tls.Client(client, &tls.Config{RootCAs: root, ServerName: "example.com"}), test.unused, test.header, test.body)
				if answered == test.lost {
					t.Errorf("answered: %t (%v)", answered, err)
				}
				_ = client.Close()
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		})
	}
}

// first sends the first request of a connection in three parts, each after a wait, and reports whether the answer is good.
func first(conn *tls.Conn, waits ...time.Duration) (bool, error) {
	if err := conn.Handshake(); err != nil {
		return false, err
	}
	for i, part := range []string{"POST / HTTP/1.1\r\nHost: a\r\n", "Content-Length: 2\r\n\r\n", "{}"} {
		<-time.After(waits[i]) // of the bubble
		if _, err := io.WriteString(conn, part); err != nil {
			return false, err
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false, err
	}
	return answer.StatusCode == http.StatusOK, answer.Body.Close()
}

// secureClient is a client of TLS that reads and writes what it likes.
type secureClient struct {
	*testing.T
	*tls.Conn
	reader *bufio.Reader
}

func (p *smallPort) secureClient() *secureClient {
	p.Helper()
	conn := tls.Client(p.dial("127.0.0.1"), p.trust())
	if err := conn.HandshakeContext(p.Context()); err != nil {
		p.Fatal(err)
	}
	return &secureClient{T: p.T, Conn: conn, reader: bufio.NewReader(conn)}
}

func (c *secureClient) ask(path string) {
	c.Helper()
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		c.Fatal(err)
	}
}

// status is that of the next answer.
func (c *secureClient) status() int {
	c.Helper()
	answer, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		c.Fatal(err)
	}
	return answer.StatusCode
}

// Proves: L-27 (a server that ends sends clients elsewhere that have nothing to ask yet, and those that ask at this moment; who is being answered gets the
// answer).
func TestDismissedClientsHaveAnAnswer(t *testing.T) {
	const slow, dismissal = "/slow", "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	asked, release := make(chan struct{}), make(chan struct{})
	p := newSmallPort(t, 10, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == slow {
			Received(r.Context())
			close(asked)
			<-release
		}
	})
	idle := p.secureClient()
	idle.ask("/")
	if status := idle.status(); status != http.StatusOK || !p.allIdle() {
		t.Fatalf("status %d, all idle: %t", status, p.allIdle())
	}
	unused, waiting := p.secureClient(), p.secureClient()
	waiting.ask(slow)
	<-asked
	dismissed := make(chan struct{})
	go func() {
		defer close(dismissed)
		p.open.Dismiss([]byte(dismissal), time.Minute)
	}()
	for name, c := range map[string]*secureClient{"idle": idle, "unused": unused} {
		if _, err := c.reader.Peek(1); err != nil { // the answer is on its way when the request is sent
			t.Fatal(name, err)
		}
		c.ask("/")
		if status := c.status(); status != http.StatusServiceUnavailable {
			t.Errorf("%s: status %d", name, status)
		}
	}
	select {
	case <-dismissed:
		t.Error("it does not wait for the clients")
	default:
	}
	close(release)
	if status := waiting.status(); status != http.StatusOK {
		t.Errorf("the request that was being answered: status %d", status)
	}
	for _, c := range []*secureClient{idle, unused} {
		_ = c.Close()
	}
	<-dismissed
}

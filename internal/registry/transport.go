// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// dialTimeout, headerTimeout and idleTimeout bound what a silent registry can hold; the context bounds the whole.
	dialTimeout   = 10 * time.Second
	headerTimeout = 15 * time.Second
	idleTimeout   = 30 * time.Second
	// idleConnections bounds the connections to all registries that are kept open: anyone can name any number of
	// registries.
	idleConnections = 64
	// headerBytes bounds the headers of an answer.
	headerBytes = 64 << 10
	// retryLimit is the longest time that a registry can ask to be left alone.
	retryLimit = 6 * time.Hour
)

// newTransport makes a transport that trusts the CA certificates; nil stands for the system's. The check may refuse
// each connection.
func newTransport(certificates *x509.CertPool, check func(network, address string,
	c syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: check}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: certificates, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    2,
		MaxResponseHeaderBytes: headerBytes,
		ForceAttemptHTTP2:      true,
	}
}

// refuseMachine refuses a connection to what only this machine and its cloud have: loopback, link-local and unspecified
// addresses.
func refuseMachine(_, address string, _ syscall.RawConn) error { return checkAddress(address, true) }

// refuseInside also refuses one to private addresses.
func refuseInside(_, address string, _ syscall.RawConn) error { return checkAddress(address, false) }

// sharedAddresses are those of carriers, which clusters and clouds use inside, too.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// checkAddress refuses loopback, link-local and unspecified addresses, and private ones unless they are allowed. It
// does not say which address a name has.
func checkAddress(address string, private bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	// Not valid for a name: what it resolves to is checked when the connection is made.
	ip, _ := netip.ParseAddr(strings.Trim(host, "[]"))
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() || ip.IsMulticast():
		return own(errRefused, "it leads to an address of this machine")
	case !private && (ip.IsPrivate() || sharedAddresses.Contains(ip)):
		return own(errRefused, "it leads to another host with a private address, as only registries that the settings name "+
			"may do")
	}
	return nil
}

// roundTripper is the way of one question to one registry. It bounds every answer, and remembers which pace the
// registry asks for.
type roundTripper struct {
	// registry is the host and port of the registry that is asked.
	registry string
	// plainHTTP allows http:// to it.
	plainHTTP bool
	// own leads to the registry, foreign to wherever it sends the client: to its token service and its storage. trusted
	// leads there, too, where it may have a private address, or where a proxy has it.
	own, foreign, trusted http.RoundTripper
	// private reports whether the registry may lead to a host with a private address.
	private func(host string) bool
	// decoding has the places of those who decode.
	decoding chan struct{}

	mu         sync.Mutex
	failure    error
	status     int
	retryAfter time.Duration
	layerBytes int64
	// documents is how many bytes of documents were read, decodes reports a place in decoding, and ended that the question
	// is over.
	documents      int64
	decodes, ended bool
}

// RoundTrip makes one request.
func (t *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	t.endDecoding()
	if err := t.check(request.URL); err != nil {
		return nil, err
	}
	response, err := t.way(request).RoundTrip(request)
	t.note(response, err)
	if err != nil {
		return nil, err
	}
	// The library would not follow some of them either, and gives no reason.
	if location, err := response.Location(); err == nil && response.StatusCode/100 == http.StatusMultipleChoices/100 {
		if err := t.check(location); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
	}
	return t.bounded(request, response)
}

// check refuses plain HTTP and addresses that the registry must not lead to.
func (t *roundTripper) check(u *url.URL) error {
	ownHost := u.Host == t.registry
	if u.Scheme != "https" && (!ownHost || !t.plainHTTP) {
		if failed := t.failed(); ownHost && failed != nil {
			return failed // the library tries hosts with private addresses by plain HTTP when TLS has failed
		}
		return own(errRefused, "it wants plain HTTP, which the settings do not allow")
	}
	if t.isOwn(u) {
		return nil
	}
	return checkAddress(u.Host, t.private(u.Host))
}

// isOwn reports whether an address is on the registry's host.
func (t *roundTripper) isOwn(u *url.URL) bool {
	return u.Host == t.registry || u.Hostname() == hostname(t.registry)
}

// way is the way to the host of a request.
func (t *roundTripper) way(request *http.Request) http.RoundTripper {
	if t.isOwn(request.URL) {
		return t.own
	}
	proxy, err := http.ProxyFromEnvironment(request)
	if err == nil && proxy != nil || t.private(request.URL.Host) {
		return t.trusted
	}
	return t.foreign
}

// limit returns how much of an answer is read, and whether it may be a layer.
func (t *roundTripper) limit() (limit int64, layer bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layerBytes > 0 {
		return t.layerBytes, true
	}
	return max(0, documentBytes-t.documents), false
}

// allowLayer raises the limit for what follows. Registries send clients elsewhere for layers, under paths of any form,
// so that no path shows whether it is a layer.
func (t *roundTripper) allowLayer(limit int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.layerBytes = limit
}

// note remembers what the library does not pass on: the first failure, the last status and the pace.
func (t *roundTripper) note(response *http.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failure = cmp.Or(t.failure, err)
		return
	}
	t.status = response.StatusCode
	if t.status != http.StatusTooManyRequests && t.status != http.StatusServiceUnavailable {
		return
	}
	wait := time.Duration(0)
	text := response.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		wait = time.Duration(min(seconds, int(retryLimit/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = time.Until(at)
	}
	t.retryAfter = min(max(wait, 0), retryLimit)
}

func (t *roundTripper) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// last returns the status of the last answer, zero where there was none, and how long the registry wants to be left
// alone.
func (t *roundTripper) last() (status int, retryAfter time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.retryAfter
}

func hostname(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	return host
}

// limitedBody is an answer of which so much is read. One that goes on is an error, not an end.
type limitedBody struct {
	io.ReadCloser
	left int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

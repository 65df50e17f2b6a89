// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"crypto/tls"
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
	// dialTimeout, headerTimeout and idleTimeout bound a silent registry; the context bounds the whole operation.
	dialTimeout   = 10 * time.Second
	headerTimeout = 15 * time.Second
	idleTimeout   = 30 * time.Second
	// idleConnections bounds the idle connections to all registries.
	idleConnections = 64
	headerBytes     = 64 << 10
	retryLimit      = 6 * time.Hour
)

// newTransport returns a transport with the proxy and certificates of the options. check may refuse each connection.
func newTransport(options *Options, check func(network, address string, c syscall.RawConn) error) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: check}
	return &http.Transport{
		Proxy:                  options.Proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{RootCAs: options.CACertificates, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    2,
		MaxResponseHeaderBytes: headerBytes,
		ForceAttemptHTTP2:      true,
	}
}

// refuseLocal refuses connections to loopback, link-local, multicast and unspecified addresses.
func refuseLocal(_, address string, _ syscall.RawConn) error { return checkAddress(address, true) }

// refusePrivate also refuses private addresses.
func refusePrivate(_, address string, _ syscall.RawConn) error { return checkAddress(address, false) }

// sharedAddresses is the carrier-grade NAT range, which clusters and clouds use internally.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// checkAddress refuses loopback, link-local, multicast and unspecified addresses, and private ones unless they are
// allowed. Its errors do not reveal the address.
func checkAddress(address string, private bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	// A host name is not valid here; its address is checked when dialing.
	ip, _ := netip.ParseAddr(strings.Trim(host, "[]"))
	ip = ip.Unmap().WithZone("")
	switch {
	case ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast() || ip.IsUnspecified() || ip.IsMulticast():
		return newSafeError(errRefused, "it leads to a loopback or link-local address")
	case !private && (ip.IsPrivate() || sharedAddresses.Contains(ip)):
		return newSafeError(errRefused,
			"it leads to a private address of another host, which is allowed only for registries in the settings")
	}
	return nil
}

// roundTripper sends the requests of one operation to one registry. It bounds each response and records status and
// Retry-After.
type roundTripper struct {
	registry  string
	plainHTTP bool
	// own connects to the registry, foreign to other hosts (token service, storage), and trusted to other hosts that may
	// be private or behind a proxy.
	own, foreign, trusted http.RoundTripper
	// private reports whether the registry may redirect to a private address of the host.
	private  func(host string) bool
	proxy    func(*http.Request) (*url.URL, error)
	decoding chan struct{}

	mu         sync.Mutex
	failure    error
	status     int
	retryAfter time.Duration
	layerBytes int64
	// documents counts the bytes read, holdsSlot is true while a decoding slot is held, and ended after the operation.
	documents        int64
	holdsSlot, ended bool
}

func (t *roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	t.endDecoding()
	if err := t.check(request.URL); err != nil {
		return nil, err
	}
	response, err := t.transportFor(request).RoundTrip(request)
	t.record(response, err)
	if err != nil {
		return nil, err
	}
	// Check redirects here: the library would refuse some without a reason.
	if location, err := response.Location(); err == nil && response.StatusCode/100 == http.StatusMultipleChoices/100 {
		if err := t.check(location); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
	}
	return t.bounded(request, response)
}

// check refuses plain HTTP and addresses that the registry may not redirect to.
func (t *roundTripper) check(u *url.URL) error {
	ownHost := u.Host == t.registry
	if u.Scheme != "https" && (!ownHost || !t.plainHTTP) {
		if failed := t.firstFailure(); ownHost && failed != nil {
			return failed // the library retries with plain HTTP after a TLS failure
		}
		return newSafeError(errRefused, "it requires plain HTTP, which the settings do not allow")
	}
	if t.isOwn(u) {
		return nil
	}
	return checkAddress(u.Host, t.private(u.Host))
}

// isOwn reports whether the URL is on the registry's host.
func (t *roundTripper) isOwn(u *url.URL) bool {
	return u.Host == t.registry || u.Hostname() == hostname(t.registry)
}

func (t *roundTripper) transportFor(request *http.Request) http.RoundTripper {
	if t.isOwn(request.URL) {
		return t.own
	}
	proxy, err := t.proxy(request)
	if err == nil && proxy != nil || t.private(request.URL.Host) {
		return t.trusted
	}
	return t.foreign
}

// limit returns how many bytes of a response are read, and whether it may be a layer.
func (t *roundTripper) limit() (limit int64, layer bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.layerBytes > 0 {
		return t.layerBytes, true
	}
	return max(0, documentBytes-t.documents), false
}

// allowLayer sets the limit for the following responses. A redirected path does not show whether it is a layer.
func (t *roundTripper) allowLayer(limit int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.layerBytes = limit
}

// record records the first failure, the last status and Retry-After.
func (t *roundTripper) record(response *http.Response, err error) {
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

func (t *roundTripper) firstFailure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// lastStatus returns the last status, zero if there was none, and the delay that the registry set.
func (t *roundTripper) lastStatus() (status int, retryAfter time.Duration) {
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

// limitedBody returns an error if the body is longer than left bytes.
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

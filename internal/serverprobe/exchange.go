// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

const (
	// maxHeader bounds the status line and headers, in bytes.
	maxHeader = 16 << 10
	// maxBody bounds the body, in bytes; some release lines list the settings of all providers, which may be as large as
	// config.yaml.
	maxBody = 1 << 20
	// smallBody is the size up to which a body is read without a slot for large responses.
	smallBody = 64 << 10
)

var (
	errUnauthorized = errors.New("the server requires credentials")
	errTimeout      = errors.New("no response in time")
	errHandshake    = errors.New("the TLS handshake failed")
	errUntrusted    = errors.New("the server's certificate is neither the one in its Secret nor verified by the CA there")
	errNotHTTP      = errors.New("the response is not HTTP")
	errHeader       = fmt.Errorf("the response headers are larger than %d KiB", maxHeader>>10)
	errBody         = fmt.Errorf("the response is larger than %d KiB", maxBody>>10)
	errTruncated    = errors.New("the response is truncated")
	errNotJSON      = errors.New("the response is not the expected JSON")
)

// get sends a GET request and passes the body to read. It does not use http.Transport, which logs unsolicited data,
// quotes responses in errors and keeps reading in the background.
func (c *Client) get(ctx context.Context, at *target, path string, read func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(at.timeout, requestTimeout))
	defer cancel()
	path, query, _ := strings.Cut(path, "?")
	address := at.base.JoinPath(path)
	address.RawQuery = query
	if err := c.exchange(ctx, at, address, read); err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

func (c *Client) exchange(ctx context.Context, at *target, address *url.URL, read func([]byte) error) error {
	raw, err := c.dialer.DialContext(ctx, "tcp", at.base.Host)
	if err != nil {
		return problem.StableError(err) // nothing has been received yet
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })() // interrupts reads and writes
	conn := raw
	if at.base.Scheme == "https" {
		secured := tls.Client(raw, at.trust.config())
		if err := secured.HandshakeContext(ctx); err != nil {
			if errors.Is(err, errUntrusted) {
				return errUntrusted
			}
			return constantError(ctx, err, errHandshake)
		}
		conn = secured
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	request.Close = true
	if err := request.Write(conn); err != nil {
		return constantError(ctx, err, errNotHTTP)
	}
	from := &stream{Reader: conn, deadline: conn.SetReadDeadline, slots: at.slots}
	return c.receive(ctx, from, request, read)
}

// stream is the response side of a connection.
type stream struct {
	io.Reader
	deadline func(time.Time) error
	// slots bounds the large responses in memory.
	slots *semaphore.Weighted
}

// receive reads a response and passes its body to read. If read is nil, it does not read the body.
func (c *Client) receive(ctx context.Context, from *stream, request *http.Request, read func([]byte) error) error {
	limited := &io.LimitedReader{R: from, N: maxHeader}
	//nolint:bodyclose // closing it would read the rest; the connection is closed
	response, err := http.ReadResponse(bufio.NewReader(limited),
		request)
	switch {
	case err != nil && limited.N == 0:
		return errHeader
	case err != nil:
		return constantError(ctx, err, errNotHTTP)
	}
	switch code := response.StatusCode; code {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return errUnauthorized
	default:
		return statusError(code)
	}
	if read == nil {
		return nil
	}
	limited.N = 2 * maxBody // chunked encoding adds overhead
	body, err := io.ReadAll(io.LimitReader(response.Body, smallBody))
	if err == nil && len(body) == smallBody {
		if waited := from.slots.Acquire(ctx, 1); waited != nil {
			return constantError(ctx, waited, errTimeout)
		}
		defer from.slots.Release(1)
		if err := from.deadline(time.Now().Add(largeTimeout)); err != nil {
			return constantError(ctx, err, errTruncated)
		}
		full := bytes.NewBuffer(body)
		_, err = full.ReadFrom(io.LimitReader(response.Body, maxBody+1-smallBody))
		body = full.Bytes()
	}
	switch {
	case len(body) > maxBody || err != nil && limited.N == 0:
		return errBody
	case err != nil:
		return constantError(ctx, err, errTruncated)
	}
	c.decoding.Lock()
	defer c.decoding.Unlock()
	return read(body)
}

// constantError maps an error to a constant text without data from the server.
func constantError(ctx context.Context, err, otherwise error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
		return errTimeout
	case errors.As(err, &errno):
		return errno
	}
	return otherwise
}

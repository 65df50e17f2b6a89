// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Kind classifies why an image could not be read.
type Kind string

const (
	// Unreachable means no response, or an error status without a Kind of its own; it is transient.
	Unreachable Kind = "Unreachable"
	// RateLimited means too many requests; it is transient, and Error.RetryAfter is the delay if the registry sets one.
	RateLimited Kind = "RateLimited"
	// Unauthorized means missing or rejected credentials; registries also return it for images that do not exist.
	Unauthorized Kind = "Unauthorized"
	// NotFound means that the image, tag, digest or layer does not exist.
	NotFound Kind = "NotFound"
	// NotAnImage means that the content is not a readable image for the platform.
	NotAnImage Kind = "NotAnImage"
	// TooLarge means that a response exceeds a limit.
	TooLarge Kind = "TooLarge"
	// Corrupt means that a response is truncated, undecodable or of another digest; it may be transient.
	Corrupt Kind = "Corrupt"
	// NoFile means that the layer or image does not contain the file.
	NoFile Kind = "NoFile"
	// Refused means that the settings do not allow the registry or an address that it redirects to.
	Refused Kind = "Refused"
	// InvalidReference means that the text is not an image reference.
	InvalidReference Kind = "InvalidReference"
)

// KindOf returns the Kind of an error of this package; empty for other errors.
func KindOf(err error) Kind {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Kind
	}
	return ""
}

// IsTransient reports whether the error is transient: a retry may succeed without a change of the custom resource or
// the image.
func (k Kind) IsTransient() bool { return k == Unreachable || k == RateLimited || k == Corrupt }

// Error is an error reading an image.
type Error struct {
	// Kind classifies the error.
	Kind Kind
	// Reference is the image reference.
	Reference string
	// RetryAfter is the delay that the registry sets; zero if it sets none.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error returns the reference and the cause, cut to the length of a message.
func (e *Error) Error() string {
	return limits.Message(fmt.Sprintf("image %s: %v", e.Reference, e.Err))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errCorrupt = errors.New("the response is not from a registry or is corrupt: truncated, undecodable, or with another " +
		"digest")
	errTooLarge = errors.New("the response is too large")
	errRefused  = errors.New("the registry may not be contacted")
)

// safeError is an error with text of this package, which is safe to show.
type safeError struct {
	kind error
	text string
}

func newSafeError(kind error, format string, args ...any) error {
	return &safeError{kind, fmt.Sprintf(format, args...)}
}

func (e *safeError) Error() string { return e.kind.Error() + ": " + e.text }

func (e *safeError) Unwrap() error { return e.kind }

// sanitize returns an error that is safe to show in a status. The library's errors quote server responses and redirect
// targets, which could reveal internal hosts to the author of a custom resource.
func sanitize(err error) error {
	var known *safeError
	var certificate *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool }
	var unknown *net.DNSError
	var errno syscall.Errno
	var alert tls.AlertError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, errTooLarge):
		return errTooLarge
	case errors.As(err, &certificate):
		return certificateError(certificate.Err)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &timeout) && timeout.Timeout():
		return context.DeadlineExceeded
	case errors.As(err, &unknown):
		return unknown
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &alert), errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("it does not support TLS")
	}
	return errCorrupt
}

// certificateError returns why a certificate is not trusted, without its content.
func certificateError(err error) error {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return errors.New("its certificate is for other host names")
	case errors.As(err, &authority):
		return errors.New("its certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate has expired, or is not valid yet")
	}
	return errors.New("its certificate cannot be verified")
}

// wrap returns an *Error with the Kind of a library error.
func wrap(reference string, err error, trip *roundTripper) error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	// The library's content errors have no types, so Corrupt is the default.
	wrapped := &Error{Kind: Corrupt, Reference: reference, Err: sanitize(err)}
	var response *transport.Error
	var request *url.Error
	var untrusted *tls.CertificateVerificationError
	status, retryAfter := trip.lastStatus()
	switch {
	case errors.Is(err, errTooLarge):
		wrapped.Kind = TooLarge
	// The library retries a failed TLS connection with plain HTTP, which is refused too; the TLS error counts.
	case errors.Is(err, errRefused) && !errors.As(err, &untrusted):
		wrapped.Kind = Refused
	case errors.As(err, &response):
		wrapped.Kind = kindOf(response)
		// The library's text quotes the URL and the response.
		wrapped.Err = fmt.Errorf("the registry responds with %d %s", response.StatusCode,
			http.StatusText(response.StatusCode))
	case errors.As(err, &request), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		status >= http.StatusInternalServerError:
		wrapped.Kind = Unreachable
	}
	if wrapped.Kind == RateLimited || wrapped.Kind == Unreachable {
		wrapped.RetryAfter = retryAfter
	}
	return wrapped
}

func kindOf(response *transport.Error) Kind {
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthorized
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusTooManyRequests:
		return RateLimited
	}
	for _, d := range response.Errors {
		if kind, known := kindsOfCodes[d.Code]; known {
			return kind
		}
	}
	return Unreachable
}

// kindsOfCodes maps error codes that registries send with unusual statuses.
var kindsOfCodes = map[transport.ErrorCode]Kind{
	transport.UnauthorizedErrorCode:    Unauthorized,
	transport.DeniedErrorCode:          Unauthorized,
	transport.ManifestUnknownErrorCode: NotFound,
	transport.NameUnknownErrorCode:     NotFound,
	transport.BlobUnknownErrorCode:     NotFound,
	transport.TooManyRequestsErrorCode: RateLimited,
}

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

// Kind is why an image could not be read, for programs.
type Kind string

// The kinds.
const (
	// Unreachable: no answer, or one that says to come back later. It passes.
	Unreachable Kind = "Unreachable"
	// RateLimited: the registry asks for fewer requests. It passes, after Error.RetryAfter where the registry gives a
	// time.
	RateLimited Kind = "RateLimited"
	// Unauthorized: the registry refuses the credentials, or wants some. Registries answer so for images that do not
	// exist, too.
	Unauthorized Kind = "Unauthorized"
	// NotFound: the registry has no such image, tag, digest or layer.
	NotFound Kind = "NotFound"
	// NotAnImage: what is there is not an image for the platform, or not one that can be read.
	NotAnImage Kind = "NotAnImage"
	// TooLarge: an answer is larger than what is read.
	TooLarge Kind = "TooLarge"
	// Corrupt: what the registry sent is damaged: it does not have the digest that was asked for, ends early, or cannot be
	// decoded. It may pass.
	Corrupt Kind = "Corrupt"
	// NoFile: the layer has no such file.
	NoFile Kind = "NoFile"
	// Refused: the settings do not allow the registry, or it leads to an address that the operator does not ask.
	Refused Kind = "Refused"
	// InvalidReference: the text is not the reference of an image.
	InvalidReference Kind = "InvalidReference"
)

// KindOf returns the kind of an error of this package; empty for others.
func KindOf(err error) Kind {
	if known, ok := errors.AsType[*Error](err); ok {
		return known.Kind
	}
	return ""
}

// Passes reports whether the same question can have another answer later without anybody changing the custom resource
// or the image.
func (k Kind) Passes() bool { return k == Unreachable || k == RateLimited || k == Corrupt }

// Error is why an image could not be read.
type Error struct {
	// Kind is the reason for programs.
	Kind Kind
	// Reference is the image as it was asked for.
	Reference string
	// RetryAfter is how long the registry wants to be left alone; zero where it does not say.
	RetryAfter time.Duration
	// Err is the cause.
	Err error
}

// Error returns the reference and the cause, within the length of a message.
func (e *Error) Error() string {
	return limits.Message(fmt.Sprintf("image %s: %v", e.Reference, e.Err))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errDamaged = errors.New("the answer is not that of a registry, or is damaged: it ends early, cannot be decoded, or " +
		"has another digest")
	errTooLarge = errors.New("the answer is too large")
	errRefused  = errors.New("the registry may not be asked")
)

// ownError is an error whose text is of this package.
type ownError struct {
	kind error
	text string
}

func own(kind error, format string, args ...any) error {
	return &ownError{kind, fmt.Sprintf(format, args...)}
}

func (e *ownError) Error() string { return e.kind.Error() + ": " + e.text }

func (e *ownError) Unwrap() error { return e.kind }

// shown is what may be said of an error of the library: its errors quote what servers write, and addresses to which
// these lead. With a name that only the operator reaches, that would be what the author of a custom resource cannot ask
// for.
func shown(err error) error {
	var known *ownError
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
		return errors.New("it cannot be asked with TLS")
	}
	return errDamaged
}

// certificateError says why a certificate is not trusted, without what it says.
func certificateError(err error) error {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return errors.New("its certificate is for other names")
	case errors.As(err, &authority):
		return errors.New("its certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate has expired, or is not valid yet")
	}
	return errors.New("its certificate cannot be verified")
}

// wrap gives an error of the library its kind.
func wrap(reference string, err error, trip *roundTripper) error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	// The library's errors about content have no types. So an error that is neither an answer nor a failed request is
	// about content.
	wrapped := &Error{Kind: Corrupt, Reference: reference, Err: shown(err)}
	var answer *transport.Error
	var request *url.Error
	var untrusted *tls.CertificateVerificationError
	status, retryAfter := trip.last()
	switch {
	case errors.Is(err, errTooLarge):
		wrapped.Kind = TooLarge
	// The library also tries plain HTTP with a local registry that is slow.
	case errors.Is(err, errRefused) && !errors.As(err, &untrusted):
		wrapped.Kind = Refused
	case errors.As(err, &answer):
		wrapped.Kind = kindOf(answer)
		// The text of the library holds the URL and whatever the registry wrote.
		wrapped.Err = fmt.Errorf("the registry answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	case errors.As(err, &request), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		status >= http.StatusInternalServerError:
		wrapped.Kind = Unreachable
	}
	if wrapped.Kind == RateLimited || wrapped.Kind == Unreachable {
		wrapped.RetryAfter = retryAfter
	}
	return wrapped
}

func kindOf(answer *transport.Error) Kind {
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return Unauthorized
	case http.StatusNotFound, http.StatusGone:
		return NotFound
	case http.StatusTooManyRequests:
		return RateLimited
	}
	for _, d := range answer.Errors {
		if kind, known := kindsOfCodes[d.Code]; known {
			return kind
		}
	}
	return Unreachable
}

// kindsOfCodes are the kinds of the codes that registries send with other statuses than theirs.
var kindsOfCodes = map[transport.ErrorCode]Kind{
	transport.UnauthorizedErrorCode:    Unauthorized,
	transport.DeniedErrorCode:          Unauthorized,
	transport.ManifestUnknownErrorCode: NotFound,
	transport.NameUnknownErrorCode:     NotFound,
	transport.BlobUnknownErrorCode:     NotFound,
	transport.TooManyRequestsErrorCode: RateLimited,
}

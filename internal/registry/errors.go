// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

// Kind is why an image could not be read, for programs.
type Kind string

// The kinds.
const (
	// Unreachable: no answer, or one that says to come back later. It passes.
	Unreachable Kind = "Unreachable"
	// RateLimited: the registry asks for fewer requests. It passes, after Error.RetryAfter where the registry gives a time.
	RateLimited Kind = "RateLimited"
	// Unauthorized: the registry refuses the credentials, or wants some. Registries answer so for images that do not exist, too.
	Unauthorized Kind = "Unauthorized"
	// NotFound: the registry has no such image, tag, digest or layer.
	NotFound Kind = "NotFound"
	// NotAnImage: what is there is not an image for the platform, or not one that can be read.
	NotAnImage Kind = "NotAnImage"
	// TooLarge: an answer is larger than what is read.
	TooLarge Kind = "TooLarge"
	// Corrupt: what the registry sent is damaged: it does not have the digest that was asked for, ends early, or cannot be decoded. It may pass.
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

// Passes reports whether the same question can have another answer later without anybody changing the custom resource or the image.
func (k Kind) Passes() bool {
	switch k {
	case Unreachable, RateLimited, Corrupt:
		return true
	case Unauthorized, NotFound, NotAnImage, TooLarge, NoFile, Refused, InvalidReference:
		return false
	}
	return false
}

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
	return bounds.Message(fmt.Sprintf("image %s: %v", e.Reference, e.Err))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

var (
	errTooLarge = errors.New("the answer is too large")
	errRefused  = errors.New("the registry may not be asked")
)

// wrap gives an error of the library its kind.
func wrap(reference string, err error, trip *roundTripper) error {
	if err == nil {
		return nil
	}
	if known := (*Error)(nil); errors.As(err, &known) {
		return err
	}
	// The library's errors about content have no types. So an error that is neither an answer nor a failed request is about content.
	wrapped := &Error{Kind: Corrupt, Reference: reference, Err: err}
	var answer *transport.Error
	var request *url.Error
	var untrusted *tls.CertificateVerificationError
	status, retryAfter := trip.last()
	switch {
	case errors.Is(err, errTooLarge):
		wrapped.Kind = TooLarge
	case errors.Is(err, errRefused) && !errors.As(err, &untrusted): // of a local registry that is slow, the library also tries plain HTTP
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

// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// locate tries each location of an image until one succeeds or fails because of the image's content.
func locate[T any](
	ctx context.Context, c *Client, operation, reference string,
	read func(ref name.Reference, trip *roundTripper) (T, error),
) (result T, err error) {
	if c.options.OnRead != nil {
		defer func() { c.options.OnRead(operation, err) }()
	}
	locations := []string{reference}
	if c.options.Locations != nil {
		locations = c.options.Locations(reference)
	}
	var failed []error
	for _, at := range locations {
		result, err := readAt(c, at, read)
		if err == nil || len(locations) == 1 || isAboutContent(err) {
			return result, err
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	var none T
	return none, combine(reference, failed)
}

func readAt[T any](c *Client, at string, read func(ref name.Reference, trip *roundTripper) (T, error)) (result T,
	err error) {
	ref, trip, err := c.target(at)
	if err != nil {
		return result, err
	}
	defer trip.end()
	result, err = read(ref, trip)
	return result, wrap(ref.Name(), err, trip)
}

// isAboutContent reports whether the content of the image causes the error, so that other locations fail too.
func isAboutContent(err error) bool {
	kind := KindOf(err)
	return kind == NoFile || kind == TooLarge || kind == NotAnImage
}

// combine returns the combined error of all locations. Its Kind is a transient one if there is any, otherwise that of
// the last location, the registry in the reference.
func combine(reference string, failed []error) error {
	wrapped := &Error{Reference: reference, Err: &locationsError{failed}}
	for _, err := range failed {
		known, ok := errors.AsType[*Error](err)
		if !ok {
			continue
		}
		wrapped.RetryAfter = max(wrapped.RetryAfter, known.RetryAfter)
		if !wrapped.Kind.IsTransient() {
			wrapped.Kind = known.Kind
		}
	}
	return wrapped
}

// locationsError holds the errors of all locations.
type locationsError struct{ errs []error }

func (e *locationsError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *locationsError) Unwrap() []error { return e.errs }

// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// locate tries each location of an image until one answers or fails because of the image's content.
func locate[T any](
	ctx context.Context, c *Client, question, reference string,
	ask func(ref name.Reference, trip *roundTripper) (T, error),
) (answer T, err error) {
	if c.options.Asked != nil {
		defer func() { c.options.Asked(question, err) }()
	}
	locations := []string{reference}
	if c.options.Locations != nil {
		locations = c.options.Locations(reference)
	}
	var failed []error
	for _, at := range locations {
		answer, err := askAt(c, at, ask)
		if err == nil || len(locations) == 1 || isAboutContent(err) {
			return answer, err
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	var none T
	return none, nowhere(reference, failed)
}

func askAt[T any](c *Client, at string, ask func(ref name.Reference, trip *roundTripper) (T, error)) (answer T,
	err error) {
	ref, trip, err := c.target(at)
	if err != nil {
		return answer, err
	}
	defer trip.end()
	answer, err = ask(ref, trip)
	return answer, wrap(ref.Name(), err, trip)
}

// isAboutContent reports whether the content of the image causes the error, so that other locations fail too.
func isAboutContent(err error) bool {
	kind := KindOf(err)
	return kind == NoFile || kind == TooLarge || kind == NotAnImage
}

// nowhere returns the combined error of all locations. Its Kind is a transient one if there is any, otherwise that of
// the last location, the registry in the reference.
func nowhere(reference string, failed []error) error {
	wrapped := &Error{Reference: reference, Err: &everywhere{failed}}
	for _, err := range failed {
		known, ok := errors.AsType[*Error](err)
		if !ok {
			continue
		}
		wrapped.RetryAfter = max(wrapped.RetryAfter, known.RetryAfter)
		if !wrapped.Kind.Passes() {
			wrapped.Kind = known.Kind
		}
	}
	return wrapped
}

// everywhere holds the errors of all locations.
type everywhere struct{ errs []error }

func (e *everywhere) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *everywhere) Unwrap() []error { return e.errs }

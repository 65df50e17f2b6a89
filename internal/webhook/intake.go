// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// smallReview is the size limit of small bodies, in bytes; on 256 connections they need at most 8 MiB.
	smallReview = 32 << 10
	// memoryForBodies bounds the bodies above smallReview, in bytes; it must exceed the largest review.
	memoryForBodies = 24 << 20
	growthFactor    = 2
	// memoryForDecoded bounds the decoded objects of a review, in bytes; an object of 1.5 MiB, the limit of the API
	// server, must fit. Small reviews that may need more than memoryForSmall are decoded like large ones.
	memoryForDecoded = 128 << 20
	memoryForSmall   = 8 << 20
	// largeDecoded is the estimate, in bytes, above which memory is freed before the next review.
	largeDecoded    = 16 << 20
	responseTimeout = 10 * time.Second
	// retryAfter is the Retry-After header, in seconds; API servers retry up to ten times.
	retryAfter = "1"
)

// Kind is a kind of review.
type Kind struct {
	// Path is the URL path.
	Path string
	// MaxBytes is the largest body, at most memoryForBodies.
	MaxBytes int64
	// Wait is how long a review may wait to be decoded.
	Wait time.Duration
	// ClientCertificates reports whether API servers can present a client certificate for this kind.
	ClientCertificates bool
	// Read parses the envelope of a review and leaves the objects undecoded.
	Read func(body []byte) (Review, error)
}

// Review is a parsed but undecoded review.
type Review interface {
	// Memory returns an upper bound of the memory for decoding, in bytes.
	Memory() int64
	// Result decodes the review and returns the response.
	Result(ctx context.Context) ([]byte, error)
	// Reject returns a response without decoding the review.
	Reject(reason string) ([]byte, error)
}

// Intake bounds the memory of all reviews. It decodes one small and one large review at a time.
type Intake struct {
	// bodies counts the memory of bodies above smallReview.
	bodies *semaphore.Weighted
	// small and large are the decoding slots.
	small, large *semaphore.Weighted
}

// NewIntake returns an Intake with the default limits.
func NewIntake() *Intake {
	return &Intake{
		bodies: semaphore.NewWeighted(memoryForBodies),
		small:  semaphore.NewWeighted(1), large: semaphore.NewWeighted(1),
	}
}

// Handler returns the HTTP handler of a kind.
func (i *Intake) Handler(kind Kind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, release, failed := i.read(r, kind.MaxBytes)
		defer release()
		var response []byte
		if failed == nil {
			response, failed = i.result(r.Context(), kind, body)
		}
		// It fails only if the connection is closed, or in tests.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(responseTimeout))
		if failed != nil {
			failed.write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(response)
	})
}

type httpError struct {
	status int
	text   string
}

func (e *httpError) write(w http.ResponseWriter) {
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Connection", "close") // the rest of the body is not read
	http.Error(w, e.text, e.status)
}

const tooManyValues = "the object has too many values: make it smaller"

var busy = &httpError{http.StatusServiceUnavailable, "the operator is busy with other reviews: try again"}

// read reads the body, and release frees its memory. It acquires memory as bytes arrive, not by Content-Length.
func (i *Intake) read(r *http.Request, limit int64) (body []byte, release func(), failed *httpError) {
	size, acquired := r.ContentLength, int64(0)
	release = func() { i.bodies.Release(acquired) }
	switch {
	case size < 0: // chunked; API servers never send this
		return nil, release, &httpError{http.StatusLengthRequired, "the request has no Content-Length"}
	case size > limit:
		return nil, release, &httpError{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the review is larger than %d bytes", limit)}
	}
	body = make([]byte, 0, min(size, smallReview))
	for {
		n, err := io.ReadFull(r.Body, body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			return nil, release, &httpError{http.StatusBadRequest, "cannot read the review"}
		}
		if int64(len(body)) == size {
			return body, release, nil
		}
		next := min(size, growthFactor*int64(len(body)))
		if !i.bodies.TryAcquire(next - acquired) {
			return nil, release, busy
		}
		acquired = next
		body = append(make([]byte, 0, next), body...)
	}
}

// result waits for a decoding slot and returns the response.
func (i *Intake) result(ctx context.Context, kind Kind, body []byte) ([]byte, *httpError) {
	slots := i.large
	if len(body) <= smallReview && memoryOf(body, typedItemMemory) <= memoryForSmall {
		slots = i.small
	}
	waitCtx, cancel := context.WithTimeout(ctx, kind.Wait)
	defer cancel()
	if slots.Acquire(waitCtx, 1) != nil {
		return nil, busy
	}
	defer slots.Release(1)
	review, err := kind.Read(body)
	if err != nil {
		return nil, &httpError{http.StatusBadRequest, err.Error()}
	}
	result := review.Result
	switch cost := review.Memory(); {
	case cost > memoryForDecoded:
		result = func(context.Context) ([]byte, error) { return review.Reject(tooManyValues) }
	case cost > largeDecoded:
		defer debug.FreeOSMemory() // before the slot is released
	}
	text, err := result(ctx)
	if err != nil {
		return nil, &httpError{http.StatusBadRequest, err.Error()}
	}
	return text, nil
}

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
	// smallReview is the largest body of a small review, in bytes; the objects of users are far smaller. Small bodies
	// are not counted: those of all connections together have 8 MiB.
	smallReview = 32 << 10
	// memoryForBodies bounds the larger bodies and their answers, in bytes. The largest review must fit.
	memoryForBodies = 24 << 20
	// growth is the factor by which the memory of a body grows.
	growth = 2
	// memoryForDecoded bounds the decoded objects of a review, in bytes. Any object that the API server stores must
	// fit: at most 1.5 MiB of text. Small reviews that may need more than memoryForSmall are decoded like large ones.
	memoryForDecoded = 128 << 20
	memoryForSmall   = 8 << 20
	// largeDecoded is the size from which decoded objects are collected before the next review is decoded.
	largeDecoded = 16 << 20
	// answerTimeout bounds the time to send an answer.
	answerTimeout = 10 * time.Second
	// retryAfter makes the API server repeat the request, up to ten times.
	retryAfter = "1"
)

// Kind is one kind of review that the API server sends.
type Kind struct {
	// Path is where it is sent.
	Path string
	// MaxBytes is the largest body, at most memoryForBodies.
	MaxBytes int64
	// Wait is how long a review waits for its turn to be decoded.
	Wait time.Duration
	// ClientCertificates says that an API server can be set up to show a certificate with reviews of this kind.
	ClientCertificates bool
	// Read takes a body apart, and decodes nothing that may be large. An error means that it is not such a review.
	Read func(body []byte) (Review, error)
}

// Review is one review, not decoded yet.
type Review interface {
	// Memory is what decoding takes at most, in bytes.
	Memory() int64
	// Result decodes the review and answers it. An error means that it cannot be answered.
	Result(ctx context.Context) ([]byte, error)
	// Refuse answers it without decoding.
	Refuse(reason string) ([]byte, error)
}

// Intake bounds the memory of all reviews. Reviews wait in order to be decoded, until a deadline. Small reviews do not
// wait for large ones.
type Intake struct {
	// bodies is the memory for bodies above smallReview.
	bodies *semaphore.Weighted
	// small and large let one small and one large review be decoded at a time.
	small, large *semaphore.Weighted
}

// NewIntake returns an Intake with the bounds of the operator.
func NewIntake() *Intake {
	return &Intake{
		bodies: semaphore.NewWeighted(memoryForBodies),
		small:  semaphore.NewWeighted(1), large: semaphore.NewWeighted(1),
	}
}

// Handler serves a kind of review.
func (i *Intake) Handler(kind Kind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, release, failed := i.read(r, kind.MaxBytes)
		defer release()
		var answer []byte
		if failed == nil {
			answer, failed = i.result(r.Context(), kind, body)
		}
		// It fails only if the connection has ended, or on the recorder of a test.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout))
		if failed != nil {
			failed.write(w)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	})
}

// refusal is an answer of HTTP instead of a review.
type refusal struct {
	status int
	text   string
}

func (e *refusal) write(w http.ResponseWriter) {
	if e.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Connection", "close") // what is left of the body is not read
	http.Error(w, e.text, e.status)
}

const tooCostly = "the object holds too many values: make it smaller"

var busy = &refusal{http.StatusServiceUnavailable, "the operator is busy with other reviews: try again"}

// read reads a body. It takes memory as the bytes arrive, so a client that announces much and sends little takes
// little. release gives the memory back.
func (i *Intake) read(r *http.Request, limit int64) (body []byte, release func(), failed *refusal) {
	size, taken := r.ContentLength, int64(0)
	release = func() { i.bodies.Release(taken) }
	switch {
	case size < 0: // in chunks, which no API server sends
		return nil, release, &refusal{http.StatusLengthRequired, "the request does not say how long the review is"}
	case size > limit:
		return nil, release, &refusal{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the review is larger than %d bytes", limit)}
	}
	body = make([]byte, 0, min(size, smallReview))
	for {
		n, err := io.ReadFull(r.Body, body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			return nil, release, &refusal{http.StatusBadRequest, "the review could not be read"}
		}
		if int64(len(body)) == size {
			return body, release, nil
		}
		next := min(size, growth*int64(len(body)))
		if !i.bodies.TryAcquire(next - taken) {
			return nil, release, busy
		}
		taken = next
		body = append(make([]byte, 0, next), body...)
	}
}

// result waits until the review can be decoded, and answers it.
func (i *Intake) result(ctx context.Context, kind Kind, body []byte) ([]byte, *refusal) {
	turns := i.large
	if len(body) <= smallReview && memoryOf(body, typedItemMemory) <= memoryForSmall {
		turns = i.small
	}
	waiting, cancel := context.WithTimeout(ctx, kind.Wait)
	defer cancel()
	if turns.Acquire(waiting, 1) != nil {
		return nil, busy
	}
	defer turns.Release(1)
	review, err := kind.Read(body)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	answer := review.Result
	switch cost := review.Memory(); {
	case cost > memoryForDecoded:
		answer = func(context.Context) ([]byte, error) { return review.Refuse(tooCostly) }
	case cost > largeDecoded:
		defer debug.FreeOSMemory() // before the next turn
	}
	text, err := answer(ctx)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	return text, nil
}

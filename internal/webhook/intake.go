// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// decodedAtOnce is how many reviews are decoded at the same time; the rest wait. One with a body above largeBody is decoded alone:
	// decoded, a text can take eighty times the memory.
	decodedAtOnce = 2
	largeBody     = 256 << 10
	// memoryPerByte is what a byte of a body costs until its answer is written: the body, the objects as texts, the answer.
	memoryPerByte = 4
	// memoryForBodies bounds what all requests together may cost, in bytes. The largest review must fit.
	memoryForBodies = 64 << 20
	// bodyTimeout bounds how long a body takes once it may be sent, answerTimeout how long its sender takes to read the answer.
	bodyTimeout   = 10 * time.Second
	answerTimeout = 10 * time.Second
	// retryAfter makes the API server repeat the request by itself, up to ten times.
	retryAfter = "1"
)

// Review is one kind of review that the API server sends.
type Review struct {
	// Path is where it is sent.
	Path string
	// MaxBytes is the largest body, at most a quarter of memoryForBodies.
	MaxBytes int64
	// Wait is how long a request waits for its turn.
	Wait time.Duration
	// Answer answers one review. An error means that the body is not one.
	Answer func(ctx context.Context, body []byte) ([]byte, error)
}

// Intake bounds what the reviews of one process cost together, whoever sends them: no byte of a body is read before there is memory
// for it, and few are decoded at once. Requests wait for their turn in order, until a deadline.
type Intake struct {
	memory   *semaphore.Weighted
	decoders *semaphore.Weighted
}

// NewIntake returns an Intake with the bounds of the operator.
func NewIntake() *Intake {
	return &Intake{memory: semaphore.NewWeighted(memoryForBodies), decoders: semaphore.NewWeighted(decodedAtOnce)}
}

// Handler serves a kind of review.
func (i *Intake) Handler(review Review) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := i.serve(w, r, review); err != nil {
			err.write(w)
		}
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

func tooLarge(limit int64) *refusal {
	return &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the review is larger than %d bytes", limit)}
}

var busy = &refusal{http.StatusServiceUnavailable, "the operator is busy with other reviews: try again"}

func (i *Intake) serve(w http.ResponseWriter, r *http.Request, review Review) *refusal {
	if r.ContentLength > review.MaxBytes {
		return tooLarge(review.MaxBytes)
	}
	size := r.ContentLength
	if size < 0 { // sent in chunks: it may become as large as can be
		size = review.MaxBytes
	}
	turn, cancel := context.WithTimeout(r.Context(), review.Wait)
	defer cancel()
	cost := size * memoryPerByte
	if i.memory.Acquire(turn, cost) != nil {
		return busy
	}
	defer i.memory.Release(cost)
	body, failed := readBody(w, r, review.MaxBytes)
	if failed != nil {
		return failed
	}
	places := int64(1)
	if len(body) > largeBody {
		places = decodedAtOnce
	}
	if i.decoders.Acquire(turn, places) != nil {
		return busy
	}
	answer, err := review.decode(r.Context(), func() { i.decoders.Release(places) }, body)
	if err != nil {
		return &refusal{http.StatusBadRequest, err.Error()}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTimeout)) // recorders of tests have none
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // who does not wait for the answer asks again
	return nil
}

// decode answers the review, and then lets the next one be decoded, also after a panic.
func (review *Review) decode(ctx context.Context, done func(), body []byte) ([]byte, error) {
	defer done()
	return review.Answer(ctx, body)
}

// readBody reads a body that there is memory for.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *refusal) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // recorders of tests have none
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	if beyond := (*http.MaxBytesError)(nil); errors.As(err, &beyond) {
		return nil, tooLarge(limit)
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "the review could not be read"}
	}
	return body, nil
}

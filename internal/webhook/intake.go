// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/llamastack/llama-stack-k8s-operator/internal/connections"
)

const (
	// decodedAtOnce is how many small reviews are decoded at the same time, and how many large ones; the rest wait.
	decodedAtOnce = 1
	// smallReview is the largest body of a small review, in bytes: most objects of users are far below. Small ones are read at once,
	// what holds the memory for large ones: all connections together bring no more than 8 MiB.
	smallReview = 32 << 10
	// largeReview is the largest body of a review that does not count as huge, in bytes. Any object of common size is below.
	largeReview = 1 << 20
	// memoryForLarge and memoryForHuge bound what the bodies and answers of all large and of all huge reviews take, in bytes. The largest
	// review must fit. What is decoded takes three times its body in addition, one at a time.
	memoryForLarge = 8 << 20
	memoryForHuge  = 16 << 20
	// memoryForDecoded bounds what is decoded of a large review, in bytes. Any object that the API server stores must fit: at most 1.5 MiB
	// of text. A small review of which more than memoryForSmall is decoded waits for its turn with the large ones.
	memoryForDecoded = 128 << 20
	memoryForSmall   = 8 << 20
	// largeDecoded is from when on what was decoded is collected at once.
	largeDecoded = 16 << 20
	// bodyTimeout bounds how long a body takes once it may be sent, answerTimeout how long its sender takes to read the answer.
	bodyTimeout   = 5 * time.Second
	answerTimeout = 10 * time.Second
	// retryAfter makes the API server repeat the request by itself, up to ten times.
	retryAfter = "1"
)

// Kind is one kind of review that the API server sends.
type Kind struct {
	// Path is where it is sent.
	Path string
	// MaxBytes is the largest body, at most memoryForHuge.
	MaxBytes int64
	// Wait is how long a request waits for its turn.
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

// Intake bounds what the reviews of one process cost together, from any client: memory for a large body is taken as its bytes arrive,
// and where there is none the slowest client loses; nothing is decoded before there is memory for that, and few are decoded at once.
// Requests wait for their turn in order, until a deadline; small ones do not wait for large ones.
type Intake struct {
	largeBodies, hugeBodies *memory
	// small and large are the turns to be decoded.
	small, large *semaphore.Weighted
}

// NewIntake returns an Intake with the bounds of the operator.
func NewIntake() *Intake {
	return &Intake{
		largeBodies: newMemory(memoryForLarge), hugeBodies: newMemory(memoryForHuge),
		small: semaphore.NewWeighted(decodedAtOnce), large: semaphore.NewWeighted(decodedAtOnce),
	}
}

// Handler serves a kind of review.
func (i *Intake) Handler(kind Kind) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := i.serve(w, r, kind); err != nil {
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

const tooCostly = "the object holds too many values: make it smaller"

var busy = &refusal{http.StatusServiceUnavailable, "the operator is busy with other reviews: try again"}

func (i *Intake) serve(w http.ResponseWriter, r *http.Request, kind Kind) *refusal {
	size := r.ContentLength
	switch {
	case size < 0: // sent in chunks, as no API server does
		return &refusal{http.StatusLengthRequired, "the request does not say how long the review is"}
	case size > kind.MaxBytes:
		return tooLarge(kind.MaxBytes)
	}
	turn, cancel := context.WithTimeout(r.Context(), kind.Wait)
	defer cancel()
	t := &transfer{control: http.NewResponseController(w)}
	t.share = i.bodies(size).enter(address(r), func() { _ = t.control.SetReadDeadline(longAgo) })
	defer t.share.leave()
	body, failed := t.read(turn, r.Body, size)
	if failed != nil {
		return failed
	}
	connections.Received(r.Context())
	answer, failed := i.result(r.Context(), turn, kind, body)
	if failed != nil {
		return failed
	}
	w.Header().Set("Content-Type", "application/json")
	t.write(w, answer)
	return nil
}

// bodies is the memory for a body.
func (i *Intake) bodies(size int64) *memory {
	if size <= largeReview {
		return i.largeBodies
	}
	return i.hugeBodies
}

// address is where a request comes from.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// result answers the review, and then lets the next one be decoded, also after a panic.
func (i *Intake) result(ctx, turn context.Context, kind Kind, body []byte) ([]byte, *refusal) {
	var review Review
	var err error
	turns := i.large
	if len(body) <= smallReview {
		if review, err = kind.Read(body); err != nil {
			return nil, &refusal{http.StatusBadRequest, err.Error()}
		}
		if review.Memory() <= memoryForSmall {
			turns = i.small
		}
	}
	if turns.Acquire(turn, 1) != nil {
		return nil, busy
	}
	defer turns.Release(1)
	if review == nil {
		if review, err = kind.Read(body); err != nil {
			return nil, &refusal{http.StatusBadRequest, err.Error()}
		}
	}
	answer := func() ([]byte, error) { return review.Result(ctx) }
	switch cost := review.Memory(); {
	case cost > memoryForDecoded:
		answer = func() ([]byte, error) { return review.Refuse(tooCostly) }
	case cost > largeDecoded:
		defer debug.FreeOSMemory() // before the next turn: otherwise what was decoded is still there while the next one is
	}
	text, err := answer()
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	return text, nil
}

// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/stable"
)

const (
	// askTimeout bounds all requests of one question.
	askTimeout = time.Minute
	// recheck is after how long a tag is asked again, and recheckJitter how much longer that can be.
	recheck       = 4 * time.Hour
	recheckJitter = 2 * time.Hour
	// editPause is how long a registry is left alone between two questions that edits cause.
	editPause = 15 * time.Second
	// askAgainPause is how long after a question it is asked again because its answer was dropped: answers that do not fit into what is kept, and that are
	// used all the time, must not be asked for all the time.
	askAgainPause = time.Minute
	// Errors that pass are asked again after firstRetry, others, which someone has to fix first, after firstSlowRetry. Both double.
	firstRetry, lastRetry         = 15 * time.Second, 15 * time.Minute
	firstSlowRetry, lastSlowRetry = time.Minute, time.Hour
)

// keepAsking asks as long as the image has users.
func (r *Reader) keepAsking(ctx context.Context, i *image) {
	for {
		due, _ := r.due(i)
		var timer <-chan time.Time
		if due >= 0 {
			timer = time.After(due)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer:
		case <-i.wake:
			if !r.asksAgain(i) {
				continue
			}
			if _, early := r.due(i); early > 0 && !lanes.Wait(ctx, early) {
				return
			}
		}
		if r.ask(ctx, i) {
			r.announce(r.ctx, i) //nolint:contextcheck // who waits is told, even where the answer is dropped at once
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// due returns after how long the registry is asked by itself, negative for never, and how soon it may be asked for another reason.
func (r *Reader) due(i *image) (due, early time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case i.asked.IsZero() && !i.answer.Pending: // kept by an earlier process: what changed in the meantime is not urgent
		if isDigest(i.ref) {
			return -1, 0
		}
		return jitter(recheckJitter), 0
	case i.asked.IsZero():
		return 0, 0
	case i.answer.Pending: // an answer was dropped
		due = max(0, askAgainPause-time.Since(i.asked))
		return due, due
	case i.answer.settled() && isDigest(i.ref):
		return -1, 0
	case i.failures == 0:
		due = recheck + jitter(recheckJitter)
	default:
		due = backoff(i.err, i.failures)
		due += jitter(due / 10)
	}
	since := time.Since(i.asked)
	return max(0, due-since, i.after-since), max(0, editPause-since, i.after-since)
}

// asksAgain reports whether an edit has something to ask for: a digest that was read is not asked for again.
func (r *Reader) asksAgain(i *image) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !i.answer.settled() || !isDigest(i.ref)
}

func isDigest(ref name.Reference) bool {
	_, is := ref.(name.Digest)
	return is
}

func jitter(up time.Duration) time.Duration {
	if up <= 0 {
		return 0
	}
	return rand.N(up) //nolint:gosec // it spreads requests and guards nothing
}

// backoff doubles with each failure.
func backoff(err error, failures int) time.Duration {
	if errors.Is(err, panics.ErrInternal) {
		return panics.Delay
	}
	delay, last := firstSlowRetry, lastSlowRetry
	if registry.KindOf(err).Passes() {
		delay, last = firstRetry, lastRetry
	}
	for range failures - 1 {
		if delay *= 2; delay >= last {
			return last
		}
	}
	return delay
}

// ask asks the registry, and reports whether its answer is new.
func (r *Reader) ask(ctx context.Context, i *image) bool {
	r.mu.Lock()
	q, namespace, lane, former := i.question, i.namespace, i.lane, i.answer
	r.mu.Unlock()
	leaveLane, err := r.lanes.Enter(ctx, lane)
	if err != nil {
		return false
	}
	defer leaveLane()
	leave, err := r.namespaces.Enter(ctx, namespace)
	if err != nil {
		return false
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer := r.result(limited, &q, former)
	if ctx.Err() != nil {
		return false
	}
	return r.note(ctx, i, answer)
}

// result is one manifest and one configuration for an image that was not read, and one request without a body for a tag that was.
func (r *Reader) result(ctx context.Context, q *Question, former Answer) (answer Answer) {
	log := logf.FromContext(ctx).WithValues("image", q.Image)
	defer panics.Catch(log, "asking for the labels of an image panicked", &answer.Err)
	from := r.options.Connect.Client(q.Registries)
	if former.settled() {
		digest, err := from.Digest(ctx, q.Image, q.Keys)
		if err != nil {
			return Answer{Err: err}
		}
		if digest == former.Digest {
			return former
		}
	}
	if q.File != "" {
		digest, content, err := ReadFile(ctx, from, q.Image, q.File, q.Keys)
		return Answer{Digest: digest, Content: content, Err: err}
	}
	digest, labels, err := Read(ctx, from, q.Image, q.Keys)
	return Answer{Digest: digest, Labels: labels, Err: err}
}

// note keeps an answer, and reports whether it is new. A failure after an answer changes nothing.
func (r *Reader) note(ctx context.Context, i *image, answer Answer) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i.asked, i.err, i.failures, i.after = time.Now(), answer.Err, i.failures+1, 0
	if answer.settled() {
		i.failures = 0
	}
	if known, ok := errors.AsType[*registry.Error](answer.Err); ok {
		i.after = known.RetryAfter
	}
	former := i.answer
	if former.settled() && !answer.settled() {
		logf.FromContext(ctx).Info("labels of an image could not be read again; what was read stays", "image", i.question.Image, "error", answer.Err.Error())
		return false
	}
	i.answer = answer
	r.evict(i) //nolint:contextcheck // what is dropped is dropped from what is kept as well, whatever becomes of this question
	r.next(i.namespace)
	if answer.kept() && answer.Digest != former.Digest {
		//nolint:contextcheck // what was read is kept, even where nobody asks for it any more
		r.keep(&Kept{ID: i.id, Image: i.ref.Name(), Digest: answer.Digest, Labels: answer.Labels, Content: answer.Content})
	}
	// With other credentials it is another question: the custom resource has to look for them.
	refused := registry.KindOf(answer.Err) == registry.Unauthorized
	return refused || former.Pending || text(former.Err) != text(answer.Err) || !bytes.Equal(former.Content, answer.Content) ||
		!reflect.DeepEqual(former.Labels, answer.Labels)
}

// text is the text of an error, without what differs each time.
func text(err error) string {
	if err == nil {
		return ""
	}
	return stable.Error(err).Error()
}

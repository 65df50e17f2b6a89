// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
)

const (
	askTimeout = time.Minute
	// recheck is the interval between checks of a tag, plus up to recheckJitter.
	recheck       = 4 * time.Hour
	recheckJitter = 2 * time.Hour
	// editPause delays the question after an edit, askAgainPause the one for an evicted answer.
	editPause     = 15 * time.Second
	askAgainPause = time.Minute
	// firstRetry is the initial backoff of transient errors, firstSlowRetry that of others; both double up to a last one.
	firstRetry, lastRetry         = 15 * time.Second, 15 * time.Minute
	firstSlowRetry, lastSlowRetry = time.Minute, time.Hour
)

func (r *Reader) run(ctx context.Context) {
	for {
		r.mu.Lock()
		i, wait := r.first()
		if i != nil {
			i.asking = true
			go r.ask(ctx, i, i.question, i.answer)
		}
		r.mu.Unlock()
		if i != nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-time.After(wait):
		}
	}
}

// first returns the image that is due longest in the namespace with the fewest running questions. Without one it
// returns the time until an image is due.
func (r *Reader) first() (first *image, wait time.Duration) {
	all, busy := 0, map[string]int{} // running questions by namespace, and by namespace and registry
	for _, i := range r.images {
		if i.asking {
			all++
			busy[i.namespace]++
			busy[i.namespace+" "+i.registry]++
		}
	}
	now, wait, fewest := time.Now(), time.Hour, maxPerNamespace
	for _, i := range r.images {
		if i.asking || i.due.IsZero() || len(i.users) == 0 || all == maxQuestions {
			continue
		}
		if early := i.due.Sub(now); early > 0 {
			wait = min(wait, early)
			continue
		}
		for user := range i.users {
			own := busy[user.Namespace]
			older := own == fewest && first != nil && i.due.Before(first.due)
			if (own < fewest || older) && busy[user.Namespace+" "+i.registry] < maxPerRegistry {
				first, fewest, i.namespace = i, own, user.Namespace
			}
		}
	}
	return first, wait
}

// ask asks a registry and notifies the users of a new answer.
func (r *Reader) ask(ctx context.Context, i *image, q Question, former Answer) {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answer := r.result(limited, &q, former)
	if ctx.Err() != nil {
		return
	}
	for _, user := range r.note(ctx, i, &answer) {
		if r.options.Tell != nil {
			r.options.Tell(user)
		}
	}
}

// result checks the digest of a known image, and reads its content if it is new or the digest changed.
func (r *Reader) result(ctx context.Context, q *Question, former Answer) (answer Answer) {
	log := logf.FromContext(ctx).WithValues("image", q.Image)
	defer problem.CatchPanic(log, "asking for the labels of an image panicked", &answer.Err)
	from := r.options.Connect(q.Registries)
	defer from.Close()
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

// note caches an answer and returns the users to notify. A failure does not replace a known answer.
func (r *Reader) note(ctx context.Context, i *image, answer *Answer) (users []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer signal(r.wake)
	defer r.dropUnused()
	i.asking, i.asked, i.after, i.err = false, time.Now(), 0, answer.Err
	if known, ok := errors.AsType[*registry.Error](answer.Err); ok {
		i.after = known.RetryAfter
	}
	i.failures++
	former := i.answer
	switch {
	case answer.settled() && i.pinned:
		i.failures, i.due = 0, time.Time{}
	case answer.settled():
		i.failures, i.due = 0, i.asked.Add(recheck+rand.N(recheckJitter)) //nolint:gosec // it spreads requests
	default:
		i.due = i.asked.Add(max(i.after, backoff(answer.Err, i.failures)))
		if former.settled() {
			logf.FromContext(ctx).Info("cannot read labels of an image again; keeping what was read",
				"image", i.question.Image, "error", answer.Err.Error())
			return nil
		}
	}
	i.answer = *answer
	r.evict(i)
	if answer.kept() && answer.Digest != former.Digest {
		signal(r.unsaved)
	}
	same := fmt.Sprint(problem.StableError(former.Err)) == fmt.Sprint(problem.StableError(answer.Err)) &&
		reflect.DeepEqual(former.Labels, answer.Labels) &&
		slices.Equal(former.Content, answer.Content)
	// After Unauthorized, the custom resource may have other credentials, which are another question.
	if same && !former.Pending && registry.KindOf(answer.Err) != registry.Unauthorized {
		return nil
	}
	return slices.Collect(maps.Keys(i.users))
}

// backoff returns the delay before the next attempt; it doubles with each failure.
func backoff(err error, failures int) time.Duration {
	if errors.Is(err, problem.ErrInternal) {
		return problem.PanicRetryDelay
	}
	delay, last := firstSlowRetry, lastSlowRetry
	if registry.KindOf(err).Passes() {
		delay, last = firstRetry, lastRetry
	}
	for ; failures > 1 && delay < last; failures-- {
		delay *= 2
	}
	return min(delay, last) + rand.N(delay/10) //nolint:gosec // it spreads requests
}

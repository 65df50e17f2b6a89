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
	fetchTimeout = time.Minute
	// recheckInterval is the interval between checks of a tag, plus up to recheckJitter.
	recheckInterval = 4 * time.Hour
	recheckJitter   = 2 * time.Hour
	// editDelay delays the request after an edit, evictedDelay the one for an evicted result.
	editDelay    = 15 * time.Second
	evictedDelay = time.Minute
	// firstRetry is the initial backoff of transient errors, firstSlowRetry that of others; both double up to a last one.
	firstRetry, lastRetry         = 15 * time.Second, 15 * time.Minute
	firstSlowRetry, lastSlowRetry = time.Minute, time.Hour
)

func (r *Reader) run(ctx context.Context) {
	for {
		r.mu.Lock()
		i, wait := r.next()
		if i != nil {
			i.fetching = true
			go r.fetch(ctx, i, i.request, i.result)
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

// next returns the image that is due longest in the namespace with the fewest running requests. Without one it
// returns the time until an image is due.
func (r *Reader) next() (first *image, wait time.Duration) {
	all, busy := 0, map[string]int{} // running requests by namespace, and by namespace and registry
	for _, i := range r.images {
		if i.fetching {
			all++
			busy[i.namespace]++
			busy[i.namespace+" "+i.registry]++
		}
	}
	now, wait, fewest := time.Now(), time.Hour, maxPerNamespace
	for _, i := range r.images {
		if i.fetching || i.due.IsZero() || len(i.users) == 0 || all == maxRequests {
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

// fetch reads from a registry and notifies the users of a new result.
func (r *Reader) fetch(ctx context.Context, i *image, q Request, previous Result) {
	limited, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	result := r.read(limited, &q, previous)
	if ctx.Err() != nil {
		return
	}
	for _, user := range r.record(ctx, i, &result) {
		if r.options.Notify != nil {
			r.options.Notify(user)
		}
	}
}

// read checks the digest of a known image, and reads its content if it is new or the digest changed.
func (r *Reader) read(ctx context.Context, q *Request, previous Result) (result Result) {
	log := logf.FromContext(ctx).WithValues("image", q.Image)
	defer problem.CatchPanic(log, "panic while reading image labels", &result.Err)
	from := r.options.Connect(q.Registries)
	defer from.Close()
	if previous.settled() {
		digest, err := from.Digest(ctx, q.Image, q.Keys)
		if err != nil {
			return Result{Err: err}
		}
		if digest == previous.Digest {
			return previous
		}
	}
	if q.File != "" {
		digest, content, err := ReadFile(ctx, from, q.Image, q.File, q.Keys)
		return Result{Digest: digest, Content: content, Err: err}
	}
	digest, labels, err := Read(ctx, from, q.Image, q.Keys)
	return Result{Digest: digest, Labels: labels, Err: err}
}

// record caches a result and returns the users to notify. A failure does not replace a known result.
func (r *Reader) record(ctx context.Context, i *image, result *Result) (users []types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer signal(r.wake)
	defer r.dropUnused()
	i.fetching, i.fetchedAt, i.retryAfter, i.err = false, time.Now(), 0, result.Err
	if known, ok := errors.AsType[*registry.Error](result.Err); ok {
		i.retryAfter = known.RetryAfter
	}
	i.failures++
	previous := i.result
	switch {
	case result.settled() && i.pinned:
		i.failures, i.due = 0, time.Time{}
	case result.settled():
		i.failures, i.due = 0, i.fetchedAt.Add(recheckInterval+rand.N(recheckJitter)) //nolint:gosec // it spreads requests
	default:
		i.due = i.fetchedAt.Add(max(i.retryAfter, backoff(result.Err, i.failures)))
		if previous.settled() {
			logf.FromContext(ctx).Info("cannot check image labels; keeping the cached ones",
				"image", i.request.Image, "error", result.Err.Error())
			return nil
		}
	}
	i.result = *result
	r.evict(i)
	if result.storable() && result.Digest != previous.Digest {
		signal(r.unsaved)
	}
	same := fmt.Sprint(problem.StableError(previous.Err)) == fmt.Sprint(problem.StableError(result.Err)) &&
		reflect.DeepEqual(previous.Labels, result.Labels) &&
		slices.Equal(previous.Content, result.Content)
	// After Unauthorized, the custom resource may have other credentials, which make another request.
	if same && !previous.Pending && registry.KindOf(result.Err) != registry.Unauthorized {
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
	if registry.KindOf(err).IsTransient() {
		delay, last = firstRetry, lastRetry
	}
	for ; failures > 1 && delay < last; failures-- {
		delay *= 2
	}
	return min(delay, last) + rand.N(delay/10) //nolint:gosec // it spreads requests
}

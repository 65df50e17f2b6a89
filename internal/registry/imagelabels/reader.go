// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const (
	// maxRequests, maxPerNamespace and maxPerRegistry bound the concurrent requests in total, per namespace, and per
	// namespace and registry; each request reads up to 2.75 MiB.
	maxRequests     = 24
	maxPerNamespace = 4
	maxPerRegistry  = 3
	// maxBytes bounds the cached results; each counts resultBytes plus its content.
	maxBytes    = 16 << 20
	resultBytes = 4 << 10
)

// Options configure a Reader.
type Options struct {
	// Connect returns the client for one request.
	Connect func(*settings.Registries) Registry
	// Store keeps results across restarts; nil disables this.
	Store *Store
	// Key is the operator's key for hashes of secrets.
	Key secret.Value
	// Notify is called with each custom resource whose image has a new result; nil is not called.
	Notify func(types.NamespacedName)
	// OnLookup is called after each lookup with whether a result was known; nil is not called.
	OnLookup func(known bool)
}

// Reader reads images in the background and caches the results.
type Reader struct {
	options Options
	// wake starts due requests, unsaved a write of the store.
	wake, unsaved chan struct{}
	restore       func()

	mu sync.Mutex
	// images are those with users or with a result.
	images map[string]*image
}

// image is an image, or one of its files, for users with equal credentials.
type image struct {
	request Request
	// pinned is true for an image by digest; namespace is the one whose limit it counts for.
	pinned              bool
	registry, namespace string
	result              Result
	// users are the custom resources that use the image, with their generation.
	users map[types.NamespacedName]int64
	// due is the time of the next request; zero means never.
	due      time.Time
	fetching bool
	// fetchedAt is the time of the last result, retryAfter the delay that the registry set, and err the error.
	fetchedAt  time.Time
	retryAfter time.Duration
	failures   int
	err        error
}

// New returns a Reader that runs until the context ends.
func New(ctx context.Context, o Options) *Reader {
	r := &Reader{
		options: o, restore: func() {}, wake: make(chan struct{}, 1), unsaved: make(chan struct{}, 1),
		images: map[string]*image{},
	}
	go r.run(ctx)
	if o.Store != nil {
		r.restore = sync.OnceFunc(func() { r.load(ctx) })
		go r.keepSaving(ctx)
	}
	return r
}

// Labels returns the known labels of the image without a request. Notify is called when they change.
func (r *Reader) Labels(user types.NamespacedName, q Request) Result {
	return r.Files(user, "", []Request{q})[0]
}

// Files returns the known content of a file in each image, as Labels does. The user no longer counts for this file in
// other images.
func (r *Reader) Files(user types.NamespacedName, file string, requests []Request) []Result {
	if len(requests) > 0 {
		r.restore()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	results, used := make([]Result, len(requests)), map[*image]bool{}
	for n := range requests {
		q := requests[n]
		q.File = file
		id, ref, err := identify(r.options.Key, &q)
		if err != nil {
			results[n] = Result{Err: err}
			continue
		}
		i := r.use(id, ref, user, &q)
		results[n], used[i] = i.result, true
	}
	r.removeUser(user, func(i *image) bool { return i.request.File == file && !used[i] })
	signal(r.wake)
	return results
}

// Forget removes a deleted custom resource from all images.
func (r *Reader) Forget(user types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removeUser(user, func(*image) bool { return true })
}

// use adds the user to the image and sets the time of the next request.
func (r *Reader) use(id string, ref name.Reference, user types.NamespacedName, q *Request) *image {
	now, i := time.Now(), r.images[id]
	if i == nil {
		i = &image{result: Result{Pending: true, Since: now}, due: now}
		r.images[id] = i
	}
	if i.users == nil {
		i.users = map[types.NamespacedName]int64{}
	}
	_, i.pinned = ref.(name.Digest)
	i.registry, i.namespace = ref.Context().RegistryStr(), cmp.Or(i.namespace, user.Namespace)
	previous, known := i.users[user]
	i.users[user] = q.Generation
	changed := i.err != nil && !reflect.DeepEqual(i.request.Registries, q.Registries)
	if changed {
		i.retryAfter = 0
	}
	i.request = *q
	early := i.fetchedAt.Add(max(editDelay, i.retryAfter))
	switch {
	case i.due.IsZero() && i.result.Pending: // evicted
		i.due = i.fetchedAt.Add(evictedDelay)
	case i.due.IsZero() && !i.pinned: // loaded from the store
		i.due = now.Add(rand.N(recheckJitter)) //nolint:gosec // it spreads requests
	case (changed || known && previous != q.Generation) && early.Before(i.due):
		i.due = early
	}
	if r.options.OnLookup != nil {
		r.options.OnLookup(!i.result.Pending)
	}
	return i
}

func (r *Reader) removeUser(user types.NamespacedName, from func(*image) bool) {
	for _, i := range r.images {
		if from(i) {
			delete(i.users, user)
		}
	}
	r.dropUnused()
}

func (r *Reader) dropUnused() {
	maps.DeleteFunc(r.images,
		func(_ string, i *image) bool { return len(i.users) == 0 && !i.fetching && !i.result.storable() })
}

// evict drops results beyond maxBytes: first those without users, then those of the namespace with the most bytes,
// oldest first. A dropped result is read again when it is used.
func (r *Reader) evict(newest *image) {
	size, share := 0, map[string]int{}
	for _, i := range r.images {
		size += i.result.size()
		if len(i.users) > 0 {
			share[i.namespace] += i.result.size()
		}
	}
	for size > maxBytes {
		var worst *image
		for _, i := range r.images {
			if i != newest && i.result.settled() && (worst == nil ||
				cmp.Or(cmp.Compare(min(len(worst.users), 1), min(len(i.users), 1)),
					cmp.Compare(share[i.namespace], share[worst.namespace]), worst.fetchedAt.Compare(i.fetchedAt)) > 0) {
				worst = i
			}
		}
		if worst == nil {
			return
		}
		size -= worst.result.size()
		worst.result, worst.due = Result{Pending: true, Since: time.Now()}, time.Time{}
	}
}

// signal wakes the receiver without blocking.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

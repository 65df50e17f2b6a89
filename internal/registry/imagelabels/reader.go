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
	// maxQuestions, maxPerNamespace and maxPerRegistry bound the concurrent questions in total, per namespace, and per
	// namespace and registry; each question reads up to 2.75 MiB.
	maxQuestions    = 24
	maxPerNamespace = 4
	maxPerRegistry  = 3
	// maxBytes bounds the cached answers; each counts answerBytes plus its content.
	maxBytes    = 16 << 20
	answerBytes = 4 << 10
)

// Options configure a Reader.
type Options struct {
	// Connect returns the client for one question.
	Connect func(*settings.Registries) Registry
	// Store keeps answers across restarts; nil disables this.
	Store *Store
	// Key is the operator's key for hashes of secrets.
	Key secret.Value
	// Tell is called with each custom resource whose image has a new answer; nil is not called.
	Tell func(types.NamespacedName)
	// LookedUp is called after each lookup with whether an answer was known; nil is not called.
	LookedUp func(known bool)
}

// Reader reads images in the background and caches the answers.
type Reader struct {
	options Options
	// wake starts due questions, unsaved a write of the store.
	wake, unsaved chan struct{}
	restore       func()

	mu sync.Mutex
	// images are those with users or with an answer.
	images map[string]*image
}

// image is an image, or one of its files, for users with equal credentials.
type image struct {
	question Question
	// pinned is true for an image by digest; namespace is the one whose limit it counts for.
	pinned              bool
	registry, namespace string
	answer              Answer
	// users are the custom resources that use the image, with their generation.
	users map[types.NamespacedName]int64
	// due is the time of the next question; zero means never.
	due    time.Time
	asking bool
	// asked is the time of the last answer, after the delay that the registry asked for, and err the error.
	asked    time.Time
	after    time.Duration
	failures int
	err      error
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

// Labels returns the known labels of the image without a request. Tell is called when they change.
func (r *Reader) Labels(user types.NamespacedName, q Question) Answer {
	return r.Files(user, "", []Question{q})[0]
}

// Files returns the known content of a file in each image, as Labels does. The user no longer counts for this file in
// other images.
func (r *Reader) Files(user types.NamespacedName, file string, questions []Question) []Answer {
	if len(questions) > 0 {
		r.restore()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	answers, asked := make([]Answer, len(questions)), map[*image]bool{}
	for n := range questions {
		q := questions[n]
		q.File = file
		id, ref, err := identify(r.options.Key, &q)
		if err != nil {
			answers[n] = Answer{Err: err}
			continue
		}
		i := r.use(id, ref, user, &q)
		answers[n], asked[i] = i.answer, true
	}
	r.leave(user, func(i *image) bool { return i.question.File == file && !asked[i] })
	signal(r.wake)
	return answers
}

// Forget removes a deleted custom resource from all images.
func (r *Reader) Forget(user types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(user, func(*image) bool { return true })
}

// use adds the user to the image and sets when its registry is asked next.
func (r *Reader) use(id string, ref name.Reference, user types.NamespacedName, q *Question) *image {
	now, i := time.Now(), r.images[id]
	if i == nil {
		i = &image{answer: Answer{Pending: true, Since: now}, due: now}
		r.images[id] = i
	}
	if i.users == nil {
		i.users = map[types.NamespacedName]int64{}
	}
	_, i.pinned = ref.(name.Digest)
	i.registry, i.namespace = ref.Context().RegistryStr(), cmp.Or(i.namespace, user.Namespace)
	former, known := i.users[user]
	i.users[user] = q.Generation
	changed := i.err != nil && !reflect.DeepEqual(i.question.Registries, q.Registries)
	if changed {
		i.after = 0
	}
	i.question = *q
	early := i.asked.Add(max(editPause, i.after))
	switch {
	case i.due.IsZero() && i.answer.Pending: // evicted
		i.due = i.asked.Add(askAgainPause)
	case i.due.IsZero() && !i.pinned: // loaded from the store
		i.due = now.Add(rand.N(recheckJitter)) //nolint:gosec // it spreads requests
	case (changed || known && former != q.Generation) && early.Before(i.due):
		i.due = early
	}
	if r.options.LookedUp != nil {
		r.options.LookedUp(!i.answer.Pending)
	}
	return i
}

func (r *Reader) leave(user types.NamespacedName, from func(*image) bool) {
	for _, i := range r.images {
		if from(i) {
			delete(i.users, user)
		}
	}
	r.dropUnused()
}

func (r *Reader) dropUnused() {
	maps.DeleteFunc(r.images, func(_ string, i *image) bool { return len(i.users) == 0 && !i.asking && !i.answer.kept() })
}

// evict drops answers beyond maxBytes: first those without users, then those of the namespace with the most bytes,
// oldest first. A dropped answer is read again when it is used.
func (r *Reader) evict(newest *image) {
	size, share := 0, map[string]int{}
	for _, i := range r.images {
		size += i.answer.size()
		if len(i.users) > 0 {
			share[i.namespace] += i.answer.size()
		}
	}
	for size > maxBytes {
		var worst *image
		for _, i := range r.images {
			if i != newest && i.answer.settled() && (worst == nil ||
				cmp.Or(cmp.Compare(min(len(worst.users), 1), min(len(i.users), 1)),
					cmp.Compare(share[i.namespace], share[worst.namespace]), worst.asked.Compare(i.asked)) > 0) {
				worst = i
			}
		}
		if worst == nil {
			return
		}
		size -= worst.answer.size()
		worst.answer, worst.due = Answer{Pending: true, Since: time.Now()}, time.Time{}
	}
}

// signal wakes the receiver without blocking.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

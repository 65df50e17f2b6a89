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
	// maxQuestions bounds the questions that are asked at once, maxPerNamespace those of one namespace, and
	// maxPerRegistry those of one namespace to one registry. Package registry reads 2.75 MiB for each.
	maxQuestions    = 24
	maxPerNamespace = 4
	maxPerRegistry  = 3
	// maxBytes bounds the cached answers, each with answerBytes in addition to its content.
	maxBytes    = 16 << 20
	answerBytes = 4 << 10
)

// Options are the choices of New.
type Options struct {
	// Connect makes the client for one question, by the operator's settings.
	Connect func(*settings.Registries) Registry
	// Store keeps answers across restarts; nil keeps none.
	Store *Store
	// Key is the operator's key for hashes of secret content.
	Key secret.Value
	// Tell is called with each custom resource for whose image there is a new answer; nil is not called.
	Tell func(types.NamespacedName)
	// LookedUp is called for each lookup, with whether there was an answer; nil is not called.
	LookedUp func(known bool)
}

// Reader asks registries about images, and caches the answers.
type Reader struct {
	options Options
	// wake starts a search for images that are due, and unsaved a write of the store.
	wake, unsaved chan struct{}
	// restore reads the store, once.
	restore func()

	mu sync.Mutex
	// images are those that custom resources use, and those with an answer.
	images map[string]*image
}

// image is an image, or one of its files, for custom resources with the same credentials.
type image struct {
	// question is the last one.
	question Question
	// pinned reports whether the image is named by digest; namespace is the one whose share it counts for.
	pinned              bool
	registry, namespace string
	answer              Answer
	// users are the custom resources that use it, with the generation in which they asked last.
	users map[types.NamespacedName]int64
	// due is when the registry is asked next; zero means never.
	due    time.Time
	asking bool
	// asked is when the last answer came, after how long the registry then permits a question, and err its error.
	asked    time.Time
	after    time.Duration
	failures int
	err      error
}

// New returns a reader. What it starts ends with the context.
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

// Labels returns the known labels of the image that a custom resource uses. It sends no request: Tell is called when
// the registry has answered.
func (r *Reader) Labels(user types.NamespacedName, q Question) Answer {
	return r.Files(user, "", []Question{q})[0]
}

// Files returns what is known of a file of the images that a custom resource uses, one answer for each question, as
// Labels does. It drops the interest of the custom resource in this file of other images.
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

// Forget drops the interest of a deleted custom resource.
func (r *Reader) Forget(user types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leave(user, func(*image) bool { return true })
}

// use makes the custom resource a user of the image, and decides when its registry is asked next.
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
	case i.due.IsZero() && !i.pinned: // read by an earlier process
		i.due = now.Add(rand.N(recheckJitter)) //nolint:gosec // it spreads requests
	case (changed || known && former != q.Generation) && early.Before(i.due):
		i.due = early
	}
	if r.options.LookedUp != nil {
		r.options.LookedUp(!i.answer.Pending)
	}
	return i
}

// leave removes the custom resource from the users of some images.
func (r *Reader) leave(user types.NamespacedName, from func(*image) bool) {
	for _, i := range r.images {
		if from(i) {
			delete(i.users, user)
		}
	}
	r.dropUnused()
}

// dropUnused removes images without users and content.
func (r *Reader) dropUnused() {
	maps.DeleteFunc(r.images, func(_ string, i *image) bool { return len(i.users) == 0 && !i.asking && !i.answer.kept() })
}

// evict drops answers beyond maxBytes: first those without users, then those of the namespace with the most bytes. A
// dropped answer is asked for again when it is used, after a pause.
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

// signal wakes the receiver, now or when it receives next.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// patience is how long a request waits for the turn of its priority, before it may get another one.
	patience = 10 * time.Second
	// share says that one of so many turns goes to the request that has waited longest.
	share = 10
	// nextPriority is above all that requests are added with.
	nextPriority = 1 << 20
)

// Queue is a priority queue of requests in which none waits forever, with the limit that the package names. Use New to make one.
type Queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	limiter workqueue.TypedRateLimiter[reconcile.Request]

	mu    sync.Mutex
	turns int
	// waiting has each request of the queue by the time since which it could have been taken. One that is added again after the priority queue
	// has handed it out, and before it is removed here, is missing until it is added once more: nobody tells whether it was added before it was
	// handed out, and then it must go. To keep it in doubt would cost a pass for nothing after many edits, since each edit is added twice.
	waiting waiting
}

// New is the NewQueue of a controller's options. The queue runs until ShutDown.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return &Queue{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[reconcile.Request]) { o.RateLimiter = limiter }),
		limiter:       limiter, waiting: waiting{places: map[reconcile.Request]int{}},
	}
}

// Add adds a request.
func (q *Queue) Add(r reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, r) }

// AddAfter adds a request that can be taken after a time.
func (q *Queue) AddAfter(r reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, r)
}

// AddRateLimited adds a request that can be taken when the rate limiter says.
func (q *Queue) AddRateLimited(r reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, r)
}

// AddWithOpts adds requests, as the priority queue does.
func (q *Queue) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	for _, r := range requests {
		each := priorityqueue.AddOpts{After: o.After, Priority: o.Priority}
		if o.RateLimited { // asked here, because it counts how often it is asked
			if after := q.limiter.When(r); each.After == 0 || after < each.After {
				each.After = after
			}
		}
		q.mu.Lock()
		q.waiting.add(r, time.Now().Add(each.After))
		q.mu.Unlock()
		q.PriorityQueue.AddWithOpts(each, r)
	}
}

// Get waits for the next request.
func (q *Queue) Get() (r reconcile.Request, shutdown bool) {
	r, _, shutdown = q.GetWithPriority()
	return r, shutdown
}

// GetWithPriority waits for the next request, and returns its priority too: 0 if it was its turn because it had waited longest.
func (q *Queue) GetWithPriority() (r reconcile.Request, priority int, shutdown bool) {
	if r, found := q.longest(); found {
		// Where another worker has taken it since, this adds it anew, and it gets one pass that finds nothing to do.
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: new(nextPriority)}, r)
	}
	r, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.mu.Lock()
	q.waiting.remove(r)
	q.mu.Unlock()
	if priority == nextPriority {
		priority = 0
	}
	return r, priority, shutdown
}

// longest is the request that has waited longest, if this turn is for such a one and there is one that has waited too long.
func (q *Queue) longest() (r reconcile.Request, found bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns++
	if q.turns%share != 0 || len(q.waiting.order) == 0 {
		return r, false
	}
	first := q.waiting.order[0]
	if time.Since(first.since) < patience {
		return r, false
	}
	q.waiting.remove(first.request)
	return first.request, true
}

// waiting orders requests by the time since which they wait, which is in the future for one that is delayed.
type waiting struct {
	order  []wait
	places map[reconcile.Request]int
	added  uint64
}

type wait struct {
	request reconcile.Request
	since   time.Time
	number  uint64 // of those of one moment, the first is first
}

func (w *waiting) add(r reconcile.Request, since time.Time) {
	place, found := w.places[r]
	switch {
	case !found:
		w.added++
		heap.Push(w, wait{r, since, w.added})
	case since.Before(w.order[place].since):
		w.order[place].since = since
		heap.Fix(w, place)
	}
}

func (w *waiting) remove(r reconcile.Request) {
	if place, found := w.places[r]; found {
		heap.Remove(w, place)
	}
}

// Len is part of heap.Interface, as are Less, Swap, Push and Pop.
func (w *waiting) Len() int { return len(w.order) }

// Less says which of two waits longer.
func (w *waiting) Less(i, j int) bool {
	a, b := &w.order[i], &w.order[j]
	return a.since.Before(b.since) || a.since.Equal(b.since) && a.number < b.number
}

// Swap changes two places.
func (w *waiting) Swap(i, j int) {
	w.order[i], w.order[j] = w.order[j], w.order[i]
	w.places[w.order[i].request], w.places[w.order[j].request] = i, j
}

// Push appends one.
func (w *waiting) Push(x any) {
	added, _ := x.(wait)
	w.places[added.request] = len(w.order)
	w.order = append(w.order, added)
}

// Pop removes the last one.
func (w *waiting) Pop() any {
	last := w.order[len(w.order)-1]
	w.order = w.order[:len(w.order)-1]
	delete(w.places, last.request)
	return last
}

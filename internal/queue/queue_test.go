// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const pass = 100 * time.Millisecond

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

// inBubble runs a test of a queue with a clock of its own.
func inBubble(t *testing.T, test func(t *testing.T, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q, _ := New("test", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour)).(*Queue)
		defer q.ShutDown()
		test(t, q)
	})
}

// turnOf lets others come in before each pass, and returns after how much time the wanted one is taken, with its priority.
func turnOf(q *Queue, wanted string, comes func(turn int), turns int) (after time.Duration, priority int, found bool) {
	began := time.Now()
	for turn := range turns {
		comes(turn)
		r, priority, _ := q.GetWithPriority()
		q.Done(r)
		if r == request(wanted) {
			return time.Since(began), priority, true
		}
		<-time.After(pass)
	}
	return 0, 0, false
}

// Found by creating 10,000 custom resources: the first 45, which the operator found when it started, were not reconciled as long as the
// others kept it busy, half an hour later.
func TestNoneWaitsForever(t *testing.T) {
	for name, priorities := range map[string]struct{ waits, others int }{
		"found at the start, while others are created": {handler.LowPriority, 0},
		"created, while others are edited":             {0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *Queue) {
				q.AddWithOpts(priorityqueue.AddOpts{Priority: new(priorities.waits)}, request("waits"))
				others := func(turn int) {
					for n := range 2 { // faster than they are taken
						q.AddWithOpts(priorityqueue.AddOpts{Priority: new(priorities.others)}, request(fmt.Sprintf("%d-%d", turn, n)))
					}
				}
				after, priority, found := turnOf(q, "waits", others, 1000)
				if !found || after < patience || after > patience+share*pass {
					t.Errorf("taken: %t, after %s", found, after)
				}
				if priority != 0 {
					t.Errorf("the next pass for it would have priority %d", priority)
				}
			})
		})
	}
}

// An edit does not wait for those that wait long, but for one of them.
func TestEditsWaitForOneOfTheOthersAtMost(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue) {
		for n := range 500 {
			q.Add(request(fmt.Sprint("new-", n)))
		}
		<-time.After(time.Minute)
		for turn := range 3 * share {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(100)}, request("edited"))
			if after, _, found := turnOf(q, "edited", func(int) {}, 2); !found {
				t.Fatalf("turn %d: %s, taken %t", turn, after, found)
			}
		}
	})
}

// What is asked for later is not done sooner.
func TestDelaysAreKept(t *testing.T) {
	for name, add := range map[string]func(*Queue){
		"after a time":           func(q *Queue) { q.AddAfter(request("later"), time.Hour) },
		"by the rate limiter":    func(q *Queue) { q.AddRateLimited(request("later")) },
		"twice, the sooner wins": func(q *Queue) { q.AddAfter(request("later"), 2*time.Hour); q.AddAfter(request("later"), time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, q *Queue) {
				add(q)
				began := time.Now()
				others := func(turn int) { q.Add(request(fmt.Sprint(turn))) }
				if after, _, found := turnOf(q, "later", others, 1000); found {
					t.Errorf("taken after %s", after)
				}
				if r, _ := q.Get(); r != request("later") || time.Since(began) != time.Hour {
					t.Errorf("%s is taken after %s", r, time.Since(began))
				}
			})
		})
	}
}

// Among those of one priority, the first comes first.
func TestFirstComesFirst(t *testing.T) {
	inBubble(t, func(t *testing.T, q *Queue) {
		const count = 100
		for n := range count {
			q.Add(request(fmt.Sprint(n)))
		}
		<-time.After(time.Minute)
		for n := range count {
			q.Add(request(fmt.Sprint(count - 1))) // again, which changes nothing
			if r, _ := q.Get(); r != request(fmt.Sprint(n)) {
				t.Fatalf("turn %d: %s", n, r)
			}
		}
		if q.Len() != 0 || len(q.waiting.order) != 0 || len(q.waiting.places) != 0 {
			t.Errorf("%d are left, %d and %d are remembered", q.Len(), len(q.waiting.order), len(q.waiting.places))
		}
	})
}

// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

const (
	// maxFirstProbes and maxRepeatedProbes bound the concurrent first and repeated probes, each of at most some 100 KiB.
	maxFirstProbes, maxRepeatedProbes = 64, 32
	// firstTimeout bounds a first probe; package serverprobe bounds repeated ones.
	firstTimeout = time.Second
	// maxProbeAttempts bounds all probes after a rollout, maxSuccesses the successful ones, because the Service may route
	// to old pods for some seconds.
	maxProbeAttempts, maxSuccesses = 8, 4
	// firstProbeDelay is the delay after the first probe and the least time between two; it doubles after each probe.
	firstProbeDelay = time.Second
	// storesInterval is the interval of reading the stores of a server afterwards, and failedStoresInterval that while a
	// store cannot be read.
	storesInterval, failedStoresInterval = 3 * time.Minute, time.Minute
	// minFailedReads is how often in a row a store must fail before it is reported. Some servers fail the first requests
	// after their start, or with a connection that the database closed. A server can be busy for seconds with logging one
	// failure, so confirmInterval lies between two reads.
	minFailedReads, confirmInterval = 3, 15 * time.Second
)

// Client probes a server.
type Client interface {
	Probe(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error)
	Stores(ctx context.Context, server serverprobe.Server) (map[string]serverprobe.StoreResult, error)
}

// Prober probes running servers in the background.
type Prober struct {
	client          Client
	notify          func(types.NamespacedName)
	first, repeated *semaphore.Weighted

	ctx context.Context //nolint:containedctx // the manager's: it ends what is under way

	mu      sync.Mutex
	servers map[types.NamespacedName]*server
}

type server struct {
	// rollout identifies the pod template and address, pods the pods.
	rollout, pods string
	observation   *serverprobe.Observation
	failure       string
	probedAt      time.Time
	stop          context.CancelFunc
}

// New returns a Prober that runs until the context ends. It calls notify with each custom resource whose result
// changed.
func New(ctx context.Context, client Client, notify func(types.NamespacedName)) *Prober {
	return &Prober{
		ctx: ctx, client: client, notify: notify, servers: map[types.NamespacedName]*server{},
		first: semaphore.NewWeighted(maxFirstProbes), repeated: semaphore.NewWeighted(maxRepeatedProbes),
	}
}

// Observe returns the last result for this rollout: an Observation, or the error; both are empty at first. It starts
// probes after a new rollout or address and when the pods change.
func (p *Prober) Observe(
	cr *v1alpha2.LlamaStackDistribution, d *appsv1.Deployment, pods string, at serverprobe.Server,
) (*serverprobe.Observation, string) {
	key := types.NamespacedName{Namespace: cr.Namespace, Name: cr.Name}
	next := &server{rollout: fmt.Sprintf("%s/%s/%d %s", cr.UID, d.UID, d.Generation, at.URL), pods: pods}
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := p.servers[key]; last != nil {
		sameRollout := last.rollout == next.rollout
		if sameRollout && last.pods == pods {
			return last.observation, last.failure
		}
		last.stop()
		next.probedAt = last.probedAt
		if sameRollout {
			next.observation, next.failure = last.observation, last.failure
		}
	}
	var ctx context.Context
	ctx, next.stop = context.WithCancel(p.ctx)
	p.servers[key] = next
	go p.probe(ctx, next, time.Until(next.probedAt.Add(firstProbeDelay)), key, at)
	return next.observation, next.failure
}

// probe probes a server until maxSuccesses probes succeeded or after maxProbeAttempts, then reads its stores at
// intervals.
func (p *Prober) probe(ctx context.Context, s *server, delay time.Duration, key types.NamespacedName,
	at serverprobe.Server) {
	next, successes, failures := firstProbeDelay, 0, 0
	for attempt := 1; attempt <= maxProbeAttempts && successes < maxSuccesses; attempt++ {
		if !wait(ctx, delay) {
			return
		}
		at.Slow = attempt > 1
		observation, err := p.probeOnce(ctx, s, key, at)
		if ctx.Err() != nil {
			return
		}
		delay, next = next, 2*next
		if errors.Is(err, problem.ErrInternal) {
			delay = max(delay, problem.PanicRetryDelay)
		} else if err != nil && attempt == 1 {
			continue // normal after a rollout
		}
		if err == nil {
			if failures = countFailures(failures, observation.Stores); failures > 0 && failures < minFailedReads {
				continue
			}
			successes++
		}
		if p.record(s, observation, err) {
			p.notify(key)
		}
	}
	if len(at.Stores) > 0 {
		p.watchStores(ctx, s, key, at)
	}
}

// watchStores reads the stores of a server until the context ends.
func (p *Prober) watchStores(ctx context.Context, s *server, key types.NamespacedName, at serverprobe.Server) {
	failures, delay := 0, failedStoresInterval
	for wait(ctx, delay) {
		var stores map[string]serverprobe.StoreResult
		err := p.ask(ctx, s, key, p.repeated, func(ctx context.Context) (err error) {
			stores, err = p.client.Stores(ctx, at)
			return err
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			delay = failedStoresInterval
			if errors.Is(err, problem.ErrInternal) {
				delay = problem.PanicRetryDelay
			}
			continue
		}
		failures = countFailures(failures, stores)
		switch {
		case failures == 0:
			delay = storesInterval
		case failures < minFailedReads:
			delay = confirmInterval
			continue
		default:
			delay = failedStoresInterval
		}
		if p.recordStores(s, stores) {
			p.notify(key)
		}
	}
}

func wait(ctx context.Context, delay time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(delay):
		return true
	}
}

// countFailures returns how often in a row a store has failed, with these results.
func countFailures(before int, stores map[string]serverprobe.StoreResult) int {
	for _, result := range stores {
		if result == serverprobe.StoreFailed {
			return before + 1
		}
	}
	return 0
}

func (p *Prober) probeOnce(
	ctx context.Context, s *server, key types.NamespacedName, at serverprobe.Server,
) (observation *serverprobe.Observation, err error) {
	slots := p.first
	if at.Slow {
		slots = p.repeated
	}
	err = p.ask(ctx, s, key, slots, func(ctx context.Context) (err error) {
		if !at.Slow {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, firstTimeout)
			defer cancel()
		}
		observation, err = p.client.Probe(ctx, at)
		return err
	})
	return observation, err
}

// ask calls a function that sends requests to a server, when there is a slot for it.
func (p *Prober) ask(
	ctx context.Context, s *server, key types.NamespacedName, slots *semaphore.Weighted,
	request func(context.Context) error,
) (err error) {
	if err := slots.Acquire(ctx, 1); err != nil {
		return err
	}
	defer slots.Release(1)
	p.mu.Lock()
	stopped := ctx.Err() // Observe cancels under the lock
	s.probedAt = time.Now()
	p.mu.Unlock()
	if stopped != nil {
		return stopped
	}
	log := logf.FromContext(ctx).WithValues("namespace", key.Namespace, "name", key.Name)
	defer problem.CatchPanic(log, "panic while probing a server", &err)
	return request(ctx)
}

// record stores a result and reports whether it changed.
func (p *Prober) record(s *server, observation *serverprobe.Observation, err error) bool {
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := s.failure != failure || !reflect.DeepEqual(s.observation, observation)
	s.observation, s.failure = observation, failure
	return changed
}

// recordStores stores the results of reading the stores, and reports whether they changed.
func (p *Prober) recordStores(s *server, stores map[string]serverprobe.StoreResult) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.observation == nil || maps.Equal(s.observation.Stores, stores) {
		return false
	}
	next := *s.observation // a status may be computed from the former one
	next.Stores = stores
	s.observation = &next
	return true
}

// Forget stops probing the server of a deleted custom resource.
func (p *Prober) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[key]; s != nil {
		s.stop()
		delete(p.servers, key)
	}
}

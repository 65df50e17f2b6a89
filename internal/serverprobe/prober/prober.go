// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"errors"
	"fmt"
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
)

// Client probes a server.
type Client interface {
	Probe(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error)
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

// probe probes a server until maxSuccesses probes succeeded or after maxProbeAttempts.
func (p *Prober) probe(ctx context.Context, s *server, delay time.Duration, key types.NamespacedName,
	at serverprobe.Server) {
	next, successes := firstProbeDelay, 0
	for attempt := 1; attempt <= maxProbeAttempts && successes < maxSuccesses; attempt++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
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
			successes++
		}
		if p.record(s, observation, err) {
			p.notify(key)
		}
	}
}

func (p *Prober) probeOnce(
	ctx context.Context, s *server, key types.NamespacedName, at serverprobe.Server,
) (_ *serverprobe.Observation, err error) {
	slots := p.first
	if at.Slow {
		slots = p.repeated
	}
	if err := slots.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer slots.Release(1)
	p.mu.Lock()
	stopped := ctx.Err() // Observe cancels under the lock
	s.probedAt = time.Now()
	p.mu.Unlock()
	if stopped != nil {
		return nil, stopped
	}
	if !at.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstTimeout)
		defer cancel()
	}
	log := logf.FromContext(ctx).WithValues("namespace", key.Namespace, "name", key.Name)
	defer problem.CatchPanic(log, "panic while probing a server", &err)
	return p.client.Probe(ctx, at)
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

// Forget stops probing the server of a deleted custom resource.
func (p *Prober) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[key]; s != nil {
		s.stop()
		delete(p.servers, key)
	}
}

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
	// maxFirst and maxRepeated bound the concurrent first and repeated probes, each of at most some 100 KiB.
	maxFirst, maxRepeated = 64, 32
	// firstTimeout bounds a first probe; package serverprobe bounds repeated ones.
	firstTimeout = time.Second
	// maxProbeAttempts bounds all probes after a rollout, maxAnswers the successful ones, because the Service may route to
	// old pods for some seconds.
	maxProbeAttempts, maxAnswers = 8, 4
	// firstProbeDelay is the delay after the first probe and the least time between two; it doubles after each probe.
	firstProbeDelay = time.Second
)

// Asker probes a server.
type Asker interface {
	Ask(ctx context.Context, server serverprobe.Server) (*serverprobe.Observation, error)
}

// Prober probes running servers in the background.
type Prober struct {
	asker           Asker
	tell            func(types.NamespacedName)
	first, repeated *semaphore.Weighted

	ctx context.Context //nolint:containedctx // the manager's: it ends what is under way

	mu      sync.Mutex
	servers map[types.NamespacedName]*server
}

type server struct {
	// rollout identifies the pod template and address, pods the pods.
	rollout, pods string
	observation   *serverprobe.Observation
	silent        string
	asked         time.Time
	stop          context.CancelFunc
}

// New returns a Prober that runs until the context ends. It calls tell with each custom resource whose result changed.
func New(ctx context.Context, a Asker, tell func(types.NamespacedName)) *Prober {
	return &Prober{
		ctx: ctx, asker: a, tell: tell, servers: map[types.NamespacedName]*server{},
		first: semaphore.NewWeighted(maxFirst), repeated: semaphore.NewWeighted(maxRepeated),
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
			return last.observation, last.silent
		}
		last.stop()
		next.asked = last.asked
		if sameRollout {
			next.observation, next.silent = last.observation, last.silent
		}
	}
	var ctx context.Context
	ctx, next.stop = context.WithCancel(p.ctx)
	p.servers[key] = next
	go p.ask(ctx, next, time.Until(next.asked.Add(firstProbeDelay)), key, at)
	return next.observation, next.silent
}

// ask probes a server until it has answered maxAnswers times or after maxProbeAttempts.
func (p *Prober) ask(ctx context.Context, s *server, delay time.Duration, key types.NamespacedName,
	at serverprobe.Server) {
	next, answers := firstProbeDelay, 0
	for attempt := 1; attempt <= maxProbeAttempts && answers < maxAnswers; attempt++ {
		select {
		case <-ctx.Done():
			return
		case <-time.After(delay):
		}
		at.Slow = attempt > 1
		observation, err := p.askOnce(ctx, s, key, at)
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
			answers++
		}
		if p.note(s, observation, err) {
			p.tell(key)
		}
	}
}

func (p *Prober) askOnce(
	ctx context.Context, s *server, key types.NamespacedName, at serverprobe.Server,
) (_ *serverprobe.Observation, err error) {
	places := p.first
	if at.Slow {
		places = p.repeated
	}
	if err := places.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer places.Release(1)
	p.mu.Lock()
	stopped := ctx.Err() // Observe cancels under the lock
	s.asked = time.Now()
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
	defer problem.CatchPanic(log, "asking a server panicked", &err)
	return p.asker.Ask(ctx, at)
}

// note stores a result and reports whether it changed.
func (p *Prober) note(s *server, observation *serverprobe.Observation, err error) bool {
	silent := ""
	if err != nil {
		silent = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	news := s.silent != silent || !reflect.DeepEqual(s.observation, observation)
	s.observation, s.silent = observation, silent
	return news
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

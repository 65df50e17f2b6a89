// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
	"github.com/llamastack/llama-stack-k8s-operator/internal/panics"
	"github.com/llamastack/llama-stack-k8s-operator/internal/probe"
)

const (
	// maxAnnounced is how many events wait for the controller before questions wait for it.
	maxAnnounced = 64
	// maxProbeAttempts bounds how often a silent server is asked before the next rollout or change of its pods.
	maxProbeAttempts = 8
	// maxAnswers is how often a server is asked after a rollout, and after each change of its pods: for some seconds a Service still leads to
	// pods that are on their way out, and the first answer can be theirs.
	maxAnswers = 4
	// firstProbeDelay doubles after each attempt. No server is asked twice within it, however quickly rollouts follow each other.
	firstProbeDelay = time.Second
)

// Asker asks a server about itself.
type Asker interface {
	Ask(ctx context.Context, server probe.Server) (*probe.Observation, error)
}

// Prober asks running servers about themselves, off the reconcile worker: a few times within seconds after each rollout and
// each change of the pods, and longer where the server stays silent. Each answer with new facts is an event that starts a reconcile.
type Prober struct {
	asker   Asker
	answers chan event.GenericEvent
	lanes   [paces]*lanes.Lanes

	ctx context.Context //nolint:containedctx // the manager's: it ends what is under way

	mu      sync.Mutex
	servers map[types.NamespacedName]*server
}

// server is what is known about one server.
type server struct {
	// rollout reports which template of pods is asked, and where; pods, which ones exist.
	rollout     string
	pods        string
	observation *probe.Observation
	silent      string
	stop        context.CancelFunc
	// asked is when it was asked last, and pace how quickly it answered, in this rollout or an earlier one.
	asked time.Time
	pace  pace
}

// New returns a prober that asks by a. What it starts ends with the context.
func New(ctx context.Context, a Asker) *Prober {
	return &Prober{
		ctx: ctx, asker: a, answers: make(chan event.GenericEvent, maxAnnounced), lanes: newLanes(), servers: map[types.NamespacedName]*server{},
	}
}

// Events is the channel of events: each names a custom resource whose server reported something new.
func (p *Prober) Events() <-chan event.GenericEvent { return p.answers }

// Observe returns what the server of this rollout has said, or why it is silent; neither is known at first. A rollout
// that was not asked before is asked now, at the address. The pods are all that exist, in any notation: where they have changed since, the
// server is asked again, because the last answer can be that of a pod which was on its way out. The former answer counts until it
// answers, or fails to twice.
func (p *Prober) Observe(cr *v1alpha2.LlamaStackDistribution, d *appsv1.Deployment, pods string, at probe.Server) (*probe.Observation, string) {
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
		next.asked, next.pace = last.asked, last.pace
		if sameRollout {
			next.observation, next.silent = last.observation, last.silent
		}
	}
	ctx, stop := context.WithCancel(p.ctx)
	next.stop = stop
	p.servers[key] = next
	go p.ask(ctx, next, key, at)
	return next.observation, next.silent
}

// ask asks until the server has answered a few times, and not forever.
func (p *Prober) ask(ctx context.Context, s *server, key types.NamespacedName, at probe.Server) {
	delay := firstProbeDelay
	for attempt, answers := 1, 0; ; attempt++ {
		observation, err := p.askInItsLane(ctx, s, key, at)
		if ctx.Err() != nil {
			return
		}
		panicked := errors.Is(err, panics.ErrInternal)
		onlyAMoment := err != nil && attempt == 1 && !panicked // normal after a rollout
		if !onlyAMoment && p.note(s, observation, err) {
			p.announce(ctx, key)
		}
		if err == nil {
			answers++
		}
		if panicked {
			delay = max(delay, panics.Delay)
		}
		if answers == maxAnswers || attempt == maxProbeAttempts || !lanes.Wait(ctx, delay) {
			return
		}
		delay *= 2
	}
}

// note keeps what the server said, or why it was silent, and reports whether that is news.
func (p *Prober) note(s *server, observation *probe.Observation, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	silent := ""
	if err != nil {
		silent = err.Error()
	}
	news := s.silent != silent || !reflect.DeepEqual(s.observation, observation)
	s.observation, s.silent = observation, silent
	return news
}

// askSafely makes a panic a question that failed.
func (p *Prober) askSafely(ctx context.Context, key types.NamespacedName, at probe.Server) (_ *probe.Observation, err error) {
	log := logf.FromContext(ctx).WithValues("namespace", key.Namespace, "name", key.Name)
	defer panics.Catch(log, "asking a server panicked", &err)
	return p.asker.Ask(ctx, at)
}

func (p *Prober) announce(ctx context.Context, key types.NamespacedName) {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	select {
	case p.answers <- event.GenericEvent{Object: cr}:
	case <-ctx.Done():
	}
}

// Forget drops what is known about the server of a resource that is gone.
func (p *Prober) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.servers[key]; s != nil {
		s.stop()
		delete(p.servers, key)
	}
}

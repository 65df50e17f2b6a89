// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
	"github.com/llamastack/llama-stack-k8s-operator/internal/probe"
)

// pace is how quickly a server answered when it was asked last. Servers share their lanes only with those of the same pace.
type pace int

const (
	// unknown is the pace of one that has not answered yet.
	unknown pace = iota
	// prompt is the pace of one that answered within promptly.
	prompt
	// slow is the pace of one that answered later than that.
	slow
	// silent is the pace of one that did not answer at all.
	silent
	paces
)

// patient reports whether servers of this pace are asked for as long as package probe permits.
func (p pace) patient() bool { return p == slow || p == silent }

// after returns the pace of a server after a question.
func (p pace) after(late, answered bool) pace {
	switch {
	case late && (answered || p == prompt):
		return slow
	case late:
		return silent
	case answered:
		return prompt
	}
	return p
}

// promptly is how long other servers are asked. One that has not answered by then is asked again, patiently. So a silent server holds a place
// among the new ones of its namespace for so long, once, and later only one among the silent ones.
const promptly = time.Second

// maxAsked is how many servers of each pace are asked at once, in all and of one namespace. One that is being asked costs at most some
// 100 KiB; package probe bounds what more large answers need.
var maxAsked = [paces]struct{ all, perNamespace int }{unknown: {64, 16}, prompt: {32, 8}, slow: {32, 4}, silent: {32, 4}}

func newLanes() (l [paces]*lanes.Lanes) {
	for p, most := range maxAsked {
		l[p] = lanes.New(most.all, most.perNamespace)
	}
	return l
}

// askInItsLane asks a server among those of its pace, and once more where that turns out to be another one.
func (p *Prober) askInItsLane(ctx context.Context, s *server, key types.NamespacedName, at probe.Server) (*probe.Observation, error) {
	at.Lane = key.Namespace
	for {
		now := p.paceOf(s)
		at.Slow = now.patient()
		observation, took, err := p.askOnce(ctx, s, key, at)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		late := took >= promptly
		p.setPace(s, now.after(late, err == nil))
		if at.Slow || !late {
			return observation, err
		}
	}
}

// askOnce asks a server for as long as its pace permits, and returns how long that took.
func (p *Prober) askOnce(ctx context.Context, s *server, key types.NamespacedName, at probe.Server) (*probe.Observation, time.Duration, error) {
	leave, err := p.enter(ctx, s, key)
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	if !at.Slow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, promptly)
		defer cancel()
	}
	began := time.Now()
	observation, err := p.askSafely(ctx, key, at)
	return observation, time.Since(began), err
}

// enter waits until the server may be asked again, and then for a place among those of its pace.
func (p *Prober) enter(ctx context.Context, s *server, key types.NamespacedName) (leave func(), _ error) {
	for {
		if early := p.early(s, key); early > 0 {
			if !lanes.Wait(ctx, early) {
				return nil, ctx.Err()
			}
			continue
		}
		leave, err := p.lanes[p.paceOf(s)].Enter(ctx, key.Namespace)
		if err != nil {
			return nil, err
		}
		if p.begin(s, key) {
			return leave, nil
		}
		leave()
	}
}

// early returns how much too early it is to ask the server.
func (p *Prober) early(s *server, key types.NamespacedName) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers[key] != s {
		return firstProbeDelay // a newer rollout asks; this one is about to be stopped
	}
	return time.Until(s.asked.Add(firstProbeDelay))
}

// begin notes that the server is being asked, unless a newer rollout asks.
func (p *Prober) begin(s *server, key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.servers[key] != s {
		return false
	}
	s.asked = time.Now()
	return true
}

func (p *Prober) paceOf(s *server) pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return s.pace
}

func (p *Prober) setPace(s *server, now pace) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.pace = now
}

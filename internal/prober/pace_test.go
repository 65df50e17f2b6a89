// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/probe"
)

const silentURL = "http://silent"

// mixed are servers of which those at silentURL hang as long as package probe lets them, and the others answer.
func mixed(ctx context.Context, url string) (*probe.Observation, error) {
	if url == serverURL {
		return answers(ctx, url)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return hangs(ctx, url)
}

// observeSilent begins to ask so many servers that never answer.
func observeSilent(p *Prober, namespace string, count int) {
	for i := range count {
		cr := stack(fmt.Sprintf("silent-%d", i))
		cr.Namespace = namespace
		p.Observe(cr, rollout(1), "pod", probe.Server{URL: silentURL})
	}
}

// nothingLeft demands that no place is taken, and that no lane is remembered.
func nothingLeft(t *testing.T, p *Prober) {
	t.Helper()
	for pace, lanes := range p.lanes {
		if namespaces, places := lanes.InUse(); namespaces != 0 || places != 0 {
			t.Errorf("pace %d: %d namespaces and %d places are left behind", pace, namespaces, places)
		}
	}
}

// Proves: R63 (fifty silent servers delay nobody: one of their namespace that answered before keeps its interval, one that is new is heard
// within seconds while they are new too, and at once when they are known to be silent).
func TestSilentServersDelayNoneThatAnswers(t *testing.T) {
	const silent = 50
	heard := func(p *Prober, name string, generation int64) bool {
		o, _ := p.Observe(stack(name), rollout(generation), "pod", probe.Server{URL: serverURL})
		return o != nil
	}
	inBubble(t, mixed, func(t *testing.T, p *Prober, _ *fakeServers, cancel context.CancelFunc) {
		heard(p, "known", 1)
		<-time.After(time.Minute)
		observeSilent(p, "ai", silent)
		synctest.Wait()
		heard(p, "known", 2)
		synctest.Wait()
		if !heard(p, "known", 2) {
			t.Error("one that answered before waits for those that are silent")
		}
		heard(p, "new", 1)
		<-time.After((silent/16 + 1) * promptly)
		if !heard(p, "new", 1) {
			t.Error("a new one waits longer than new silent ones are asked for the first time")
		}
		for minute := range 10 {
			name := fmt.Sprint("later-", minute)
			heard(p, name, 1)
			synctest.Wait()
			if !heard(p, name, 1) {
				t.Errorf("a new one waits for silent ones after %d minutes", minute)
			}
			<-time.After(time.Minute)
		}
		cancel()
		synctest.Wait()
		nothingLeft(t, p)
	})
}

// Proves: R63 (a server that is silent is asked as often as others, its failure is reported, and what waits leaves nothing behind).
func TestSilentServersAreGivenUp(t *testing.T) {
	inBubble(t, mixed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		observeSilent(p, "ai", 50)
		<-time.After(24 * time.Hour)
		if most := 50 * (maxProbeAttempts + 1); servers.count() != most {
			t.Errorf("asked %d times, want %d", servers.count(), most)
		}
		cr := stack("silent-7")
		if _, silent := p.Observe(cr, rollout(1), "pod", probe.Server{URL: silentURL}); silent == "" {
			t.Error("the silence is not reported")
		}
		nothingLeft(t, p)
	})
}

// Proves: R63 (a server that takes its time is heard; once it has answered, it does not wait for silent ones, and once it answers promptly, not
// for slow ones either).
func TestSlowServerIsHeard(t *testing.T) {
	var takes time.Duration
	takesLong := func(ctx context.Context, url string) (*probe.Observation, error) {
		if url == silentURL {
			return mixed(ctx, url)
		}
		select {
		case <-time.After(takes):
			return answers(ctx, url)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	inBubble(t, takesLong, func(t *testing.T, p *Prober, _ *fakeServers, cancel context.CancelFunc) {
		for generation, want := range []struct {
			takes   time.Duration
			pace    pace
			heardIn time.Duration
		}{
			{3 * time.Second, slow, 4 * time.Second}, // asked for a second, and again
			{3 * time.Second, slow, 3 * time.Second},
			{time.Millisecond, prompt, time.Millisecond},
			{2 * time.Second, slow, 3 * time.Second},
			{2 * time.Second, slow, 2 * time.Second},
		} {
			takes = want.takes
			if generation > 0 {
				observeSilent(p, "ai", 50*generation)
			}
			observe := func() *probe.Observation {
				o, _ := p.Observe(stack("a"), rollout(int64(generation)), "pod", probe.Server{URL: serverURL})
				return o
			}
			observe()
			<-time.After(want.heardIn)
			synctest.Wait()
			if observe() == nil {
				t.Errorf("rollout %d is not heard within %s", generation, want.heardIn)
			}
			<-time.After(time.Minute)
			p.mu.Lock()
			now := p.servers[types.NamespacedName{Namespace: "ai", Name: "a"}].pace
			p.mu.Unlock()
			if now != want.pace {
				t.Errorf("rollout %d: pace %d, want %d", generation, now, want.pace)
			}
		}
		cancel()
		synctest.Wait()
		nothingLeft(t, p)
	})
}

// Proves: R63 (silent servers of many namespaces delay those of others neither while they are new nor when they are known to be silent; how many
// are asked at once is bounded).
func TestProberIsFairToOtherNamespaces(t *testing.T) {
	inBubble(t, mixed, func(t *testing.T, p *Prober, servers *fakeServers, cancel context.CancelFunc) {
		most := maxAsked[unknown].all/maxAsked[unknown].perNamespace - 1
		for namespace := range most {
			observeSilent(p, fmt.Sprint("hostile-", namespace), 50)
		}
		synctest.Wait()
		if now, _ := servers.underWay(); now != most*maxAsked[unknown].perNamespace || now == 0 {
			t.Errorf("%d servers are asked at once, want %d", now, most*maxAsked[unknown].perNamespace)
		}
		atOnce := func(name string) {
			p.Observe(stack(name), rollout(1), "pod", probe.Server{URL: serverURL})
			synctest.Wait()
			if o, _ := p.Observe(stack(name), rollout(1), "pod", probe.Server{URL: serverURL}); o == nil {
				t.Errorf("the server %s waits for servers of other namespaces", name)
			}
		}
		atOnce("a")
		for namespace := most; namespace < 20; namespace++ {
			observeSilent(p, fmt.Sprint("hostile-", namespace), 50)
		}
		<-time.After(time.Minute)
		if now, _ := servers.underWay(); now != maxAsked[silent].all {
			t.Errorf("%d silent servers are asked at once, want %d", now, maxAsked[silent].all)
		}
		atOnce("b")
		if _, got := servers.underWay(); got > maxAsked[unknown].all+maxAsked[prompt].all+maxAsked[silent].all {
			t.Errorf("%d servers were asked at once", got)
		}
		cancel()
		synctest.Wait()
		nothingLeft(t, p)
	})
}

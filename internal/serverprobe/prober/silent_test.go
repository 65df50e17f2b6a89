// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

const silentURL = "http://silent"

// mixed hangs for silentURL until the timeout of package serverprobe, and succeeds for other servers.
func mixed(ctx context.Context, url string) (*serverprobe.Observation, error) {
	if url == serverURL {
		return succeed(ctx, url)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return hang(ctx, url)
}

// observeSilent starts probes of count servers that never respond.
func observeSilent(p *Prober, namespace string, count int) {
	for i := range count {
		cr := stack(fmt.Sprintf("silent-%d", i))
		cr.Namespace = namespace
		p.Observe(cr, rollout(1), "pod", serverprobe.Server{URL: silentURL})
	}
}

// checkStopped fails the test if a slot is still held.
func checkStopped(t *testing.T, p *Prober) {
	t.Helper()
	if !p.first.TryAcquire(maxFirstProbes) || !p.repeated.TryAcquire(maxRepeatedProbes) {
		t.Error("places are left behind")
	}
}

// isObserved reports whether the server has an Observation.
func isObserved(p *Prober, name string, generation int64) bool {
	o, _ := p.Observe(stack(name), rollout(generation), "pod", serverprobe.Server{URL: serverURL})
	return o != nil
}

// Proves: R63 (new silent servers delay a new server by seconds, later ones do not).
func TestSilentServersDelayNoOthers(t *testing.T) {
	const namespaces, each = 20, 50
	inBubble(t, mixed, func(t *testing.T, p *Prober, servers *fakeServers, cancel context.CancelFunc) {
		for namespace := range namespaces {
			observeSilent(p, fmt.Sprint("hostile-", namespace), each)
		}
		synctest.Wait()
		if now, _ := servers.concurrency(); now != maxFirstProbes {
			t.Errorf("%d servers are asked at once, want %d", now, maxFirstProbes)
		}
		isObserved(p, "new", 1)
		<-time.After((namespaces*each/maxFirstProbes + 1) * firstTimeout)
		synctest.Wait()
		if !isObserved(p, "new", 1) {
			t.Error("a new one waits longer than new silent ones are asked for the first time")
		}
		for minute := range 10 {
			name := fmt.Sprint("later-", minute)
			isObserved(p, name, 1)
			synctest.Wait()
			if !isObserved(p, name, 1) {
				t.Errorf("a new one waits for silent ones after %d minutes", minute)
			}
			isObserved(p, "new", int64(minute+2))
			synctest.Wait()
			if !isObserved(p, "new", int64(minute+2)) {
				t.Errorf("one that answered before waits for silent ones after %d minutes", minute)
			}
			<-time.After(time.Minute)
		}
		if _, most := servers.concurrency(); most > maxFirstProbes+maxRepeatedProbes {
			t.Errorf("%d servers were asked at once", most)
		}
		cancel()
		synctest.Wait()
		checkStopped(t, p)
	})
}

// Proves: R63 (a silent server is probed a bounded number of times, its failure is reported, and nothing is left).
func TestProbesOfSilentServersAreBounded(t *testing.T) {
	inBubble(t, mixed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		observeSilent(p, "ai", 50)
		<-time.After(24 * time.Hour)
		if most := 50 * maxProbeAttempts; servers.count() != most {
			t.Errorf("asked %d times, want %d", servers.count(), most)
		}
		if _, silent := p.Observe(stack("silent-7"), rollout(1), "pod", serverprobe.Server{URL: silentURL}); silent == "" {
			t.Error("the silence is not reported")
		}
		checkStopped(t, p)
	})
}

// Proves: R63, R82 (a response that takes longer than a first probe is read, and no failure is reported).
func TestSlowServerIsRead(t *testing.T) {
	const takes = 4 * time.Second
	slow := func(ctx context.Context, url string) (*serverprobe.Observation, error) {
		select {
		case <-time.After(takes):
			return succeed(ctx, url)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	inBubble(t, slow, func(t *testing.T, p *Prober, _ *fakeServers, cancel context.CancelFunc) {
		isObserved(p, "a", 1)
		<-time.After(firstTimeout + firstProbeDelay + takes)
		synctest.Wait()
		if !isObserved(p, "a", 1) {
			t.Error("the server's response is not read")
		}
		if got := notified(p); len(got) != 1 {
			t.Errorf("announced %v, want the answer", got)
		}
		cancel()
		synctest.Wait()
		checkStopped(t, p)
	})
}

// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
)

// fakeServers returns the results of a function and counts probes.
type fakeServers struct {
	answer func(ctx context.Context, url string) (*serverprobe.Observation, error)

	mu          sync.Mutex
	asked, told []string
	now, atOnce int

	stores        serverprobe.StoreResult
	storesFailure error
	storeReads    int
}

func (f *fakeServers) Probe(ctx context.Context, at serverprobe.Server) (*serverprobe.Observation, error) {
	f.mu.Lock()
	f.asked = append(f.asked, at.URL)
	f.now++
	f.atOnce = max(f.atOnce, f.now)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.now--
		f.mu.Unlock()
	}()
	return f.answer(ctx, at.URL)
}

func (f *fakeServers) Stores(context.Context, serverprobe.Server) (map[string]serverprobe.StoreResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.storeReads++
	return map[string]serverprobe.StoreResult{"inference": f.stores}, f.storesFailure
}

func (f *fakeServers) count() int { return len(f.urls()) }

// urls returns the probed URLs in order.
func (f *fakeServers) urls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

// concurrency returns the current and the largest number of concurrent probes.
func (f *fakeServers) concurrency() (now, most int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.atOnce
}

const serverURL = "https://a-service.ai.svc:8321"

var errRefused = errors.New("connection refused")

func succeed(context.Context, string) (*serverprobe.Observation, error) {
	return &serverprobe.Observation{Version: "0.7.1"}, nil
}

func refuse(context.Context, string) (*serverprobe.Observation, error) { return nil, errRefused }

// hang returns when the context ends.
func hang(ctx context.Context, _ string) (*serverprobe.Observation, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func stack(name string) *v1alpha2.LlamaStackDistribution {
	return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name, UID: types.UID("uid-" + name)}}
}

func rollout(generation int64) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Generation: generation}}
}

// inBubble runs a test with a fake clock. All goroutines of a prober must end with the manager's context.
func inBubble(
	t *testing.T, answer func(context.Context, string) (*serverprobe.Observation, error),
	test func(*testing.T, *Prober, *fakeServers, context.CancelFunc),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		servers := &fakeServers{answer: answer}
		test(t, New(ctx, servers, servers.notify), servers, cancel)
	})
}

func (f *fakeServers) notify(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, key.String())
}

// notified returns the custom resources that were notified since the last call.
func notified(p *Prober) []string {
	f := p.client.(*fakeServers)
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { f.told = nil }()
	return f.told
}

// Proves: L-03, FR-060 (few probes go to the server's own port, and only a changed result starts a reconcile).
func TestProberProbesOncePerRollout(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		port := int32(9000)
		cr := stack("a")
		cr.Spec.Networking = &v1alpha2.NetworkingSpec{Port: &port}
		if o, silent := p.Observe(cr, rollout(1), "pod", serverprobe.Server{URL: serverURL}); o != nil || silent != "" {
			t.Errorf("known before it was asked: %v %q", o, silent)
		}
		synctest.Wait()
		if got := fmt.Sprint(notified(p)); got != "[ai/a]" {
			t.Errorf("announced %s", got)
		}
		for range 5 {
			if o, silent := p.Observe(cr, rollout(1), "pod", serverprobe.Server{URL: serverURL}); o == nil || o.Version != "0.7.1" || silent != "" {
				t.Errorf("observed %v %q", o, silent)
			}
		}
		<-time.After(24 * time.Hour)
		if got := fmt.Sprint(slices.Compact(servers.urls())); got != "["+serverURL+"]" || servers.count() != maxSuccesses {
			t.Errorf("asked %s, %d times", got, servers.count())
		}
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced %v though nothing is new", got)
		}
		if o, _ := p.Observe(cr, rollout(2), "pod", serverprobe.Server{URL: serverURL}); o != nil {
			t.Error("the answer of the former rollout is told as that of the new one")
		}
		synctest.Wait()
		if servers.count() != maxSuccesses+1 || len(notified(p)) != 1 {
			t.Errorf("asked %d times after a second rollout", servers.count())
		}
		again := stack("a")
		again.UID = "another"
		if o, _ := p.Observe(again, rollout(2), "pod", serverprobe.Server{URL: serverURL}); o != nil {
			t.Error("the answer of an earlier resource of this name is told")
		}
		synctest.Wait()
	})
}

// Proves: L-03 (retries are bounded, and a silent server is probed again after the next rollout).
func TestProberStopsRetrying(t *testing.T) {
	inBubble(t, refuse, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		cr := stack("a")
		p.Observe(cr, rollout(1), "pod", serverprobe.Server{URL: serverURL})
		synctest.Wait()
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced %v: one silent moment is no news", got)
		}
		<-time.After(10 * time.Minute)
		asked := servers.count()
		if asked != maxProbeAttempts {
			t.Errorf("asked %d times, want %d", asked, maxProbeAttempts)
		}
		if got := notified(p); len(got) == 0 || len(got) > maxProbeAttempts {
			t.Errorf("%d announcements", len(got))
		}
		if o, silent := p.Observe(cr, rollout(1), "pod", serverprobe.Server{URL: serverURL}); o != nil || silent != errRefused.Error() {
			t.Errorf("observed %v %q", o, silent)
		}
		<-time.After(24 * time.Hour)
		if servers.count() != asked {
			t.Error("a silent server is polled")
		}
		servers.answer = succeed
		p.Observe(cr, rollout(2), "pod", serverprobe.Server{URL: serverURL})
		synctest.Wait()
		if o, silent := p.Observe(cr, rollout(2), "pod", serverprobe.Server{URL: serverURL}); o == nil || silent != "" {
			t.Errorf("observed %v %q after the next rollout", o, silent)
		}
	})
}

// Shortly after a rollout a terminating pod can respond; the new server's response replaces its result.
func TestProberReplacesResultOfFormerServer(t *testing.T) {
	tries := 0
	former := func(ctx context.Context, url string) (*serverprobe.Observation, error) {
		tries++
		if tries == 1 {
			return &serverprobe.Observation{Version: "0.7.0"}, nil
		}
		return succeed(ctx, url)
	}
	inBubble(t, former, func(t *testing.T, p *Prober, _ *fakeServers, _ context.CancelFunc) {
		p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		<-time.After(time.Hour)
		if o, silent := p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL}); o == nil || o.Version != "0.7.1" || silent != "" {
			t.Errorf("observed %v %q", o, silent)
		}
		if got := notified(p); len(got) != 2 {
			t.Errorf("announced %v, want both answers", got)
		}
	})
}

// Proves: R82, L-03 (a terminating pod gave all responses, whose result stays until the new pod responds).
func TestProberProbesAgainWhenPodsChange(t *testing.T) {
	var version atomic.Value
	version.Store("0.7.0")
	current := func(context.Context, string) (*serverprobe.Observation, error) {
		return &serverprobe.Observation{Version: version.Load().(string)}, nil
	}
	inBubble(t, current, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		p.Observe(stack("a"), rollout(1), "new old", serverprobe.Server{URL: serverURL})
		<-time.After(time.Hour)
		version.Store("0.7.1")
		if o, _ := p.Observe(stack("a"), rollout(1), "new old", serverprobe.Server{URL: serverURL}); o == nil || o.Version != "0.7.0" {
			t.Errorf("observed %v", o)
		}
		if o, _ := p.Observe(stack("a"), rollout(1), "new", serverprobe.Server{URL: serverURL}); o == nil || o.Version != "0.7.0" {
			t.Errorf("the former answer is forgotten before there is another: %v", o)
		}
		<-time.After(time.Hour)
		if o, silent := p.Observe(stack("a"), rollout(1), "new", serverprobe.Server{URL: serverURL}); o == nil || o.Version != "0.7.1" || silent != "" {
			t.Errorf("observed %v %q after the old pod is gone", o, silent)
		}
		if got := notified(p); len(got) != 2 || servers.count() != 2*maxSuccesses {
			t.Errorf("announced %v, asked %d times, want both answers of %d questions", got, servers.count(), 2*maxSuccesses)
		}
	})
	// Frequent pod changes cause at most one probe for each interval.
	inBubble(t, succeed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		for i := range 100 {
			p.Observe(stack("a"), rollout(1), fmt.Sprint(i), serverprobe.Server{URL: serverURL})
			<-time.After(firstProbeDelay / 10)
		}
		if most := 100/10 + 1; servers.count() > most || servers.count() < 1 {
			t.Errorf("asked %d times in %s, want at most %d", servers.count(), 10*firstProbeDelay, most)
		}
	})
}

func TestProberDetectsLateServer(t *testing.T) {
	tries := 0
	late := func(ctx context.Context, url string) (*serverprobe.Observation, error) {
		tries++
		if tries < 4 {
			return refuse(ctx, url)
		}
		return succeed(ctx, url)
	}
	inBubble(t, late, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		<-time.After(time.Hour)
		if o, silent := p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL}); o == nil || silent != "" || servers.count() != 3+maxSuccesses {
			t.Errorf("observed %v %q after %d questions", o, silent, servers.count())
		}
	})
}

// Proves: L-03 (concurrent probes are bounded).
func TestProberNeverBlocks(t *testing.T) {
	inBubble(t, hang, func(t *testing.T, p *Prober, servers *fakeServers, cancel context.CancelFunc) {
		begun := time.Now()
		for i := range 10 * maxFirstProbes {
			p.Observe(stack(fmt.Sprintf("s%d", i)), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		}
		if passed := time.Since(begun); passed != 0 {
			t.Errorf("observe waited for %s", passed)
		}
		synctest.Wait()
		if _, got := servers.concurrency(); got != maxFirstProbes {
			t.Errorf("%d new servers asked at once, want %d", got, maxFirstProbes)
		}
		<-time.After(time.Hour)
		if now, _ := servers.concurrency(); now != maxRepeatedProbes {
			t.Errorf("%d silent servers are asked at once, want %d", now, maxRepeatedProbes)
		}
		cancel()
		synctest.Wait()
		if got := notified(p); len(got) != 0 {
			t.Errorf("announced at the end: %v", got)
		}
	})
}

// Proves: R63.
func TestProberKeepsItsIntervalOverRollouts(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		for generation := range int64(100) {
			p.Observe(stack("a"), rollout(generation), "pod", serverprobe.Server{URL: serverURL})
			<-time.After(firstProbeDelay / 10)
		}
		if most := 100/10 + 1; servers.count() > most || servers.count() < 1 {
			t.Errorf("asked %d times in %s, want at most %d", servers.count(), 10*firstProbeDelay, most)
		}
		<-time.After(time.Hour)
		if o, _ := p.Observe(stack("a"), rollout(99), "pod", serverprobe.Server{URL: serverURL}); o == nil {
			t.Error("the last rollout was not asked")
		}
	})
}

// A recreated Service has a new address for the same pods.
func TestProberProbesNewAddress(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		for _, url := range []string{"http://10.0.0.1:8321", "http://10.0.0.2:8321"} {
			p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: url})
			<-time.After(time.Hour)
			if last := servers.urls()[servers.count()-1]; last != url {
				t.Errorf("asked %s, want %s", last, url)
			}
		}
	})
}

// Deleting the resource, or a newer rollout, cancels pending probes.
func TestForgetCancelsProbes(t *testing.T) {
	inBubble(t, hang, func(t *testing.T, p *Prober, servers *fakeServers, _ context.CancelFunc) {
		key := types.NamespacedName{Namespace: "ai", Name: "a"}
		p.Forget(key) // never observed
		p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		synctest.Wait()
		p.Observe(stack("a"), rollout(2), "pod", serverprobe.Server{URL: serverURL})
		<-time.After(firstProbeDelay)
		synctest.Wait()
		if now, _ := servers.concurrency(); servers.count() != 2 || now != 1 {
			t.Errorf("%d of %d questions are under way, want that of the newer rollout alone", now, servers.count())
		}
		p.Forget(key)
		synctest.Wait()
		if now, _ := servers.concurrency(); now != 0 || len(p.servers) != 0 || len(notified(p)) != 0 {
			t.Errorf("%d questions are under way, %d servers are remembered", now, len(p.servers))
		}
	})
}

func TestProberURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &fakeServers{answer: succeed}
		ctx, cancel := context.WithCancel(context.Background())
		p := New(ctx, servers, servers.notify)
		p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		synctest.Wait()
		if got := fmt.Sprint(servers.urls()); got != "["+serverURL+"]" {
			t.Errorf("asked %s", got)
		}
		cancel()
	})
}

// Proves: R63 (a panic ends only its probe; it is reported without its value and retried slowly).
func TestProberSurvivesAPanic(t *testing.T) {
	const canary = "sk-canary"
	panicking := func(_ context.Context, url string) (*serverprobe.Observation, error) {
		if url == serverURL {
			return &serverprobe.Observation{Version: "0.7.1"}, nil
		}
		panic(canary)
	}
	inBubble(t, panicking, func(t *testing.T, p *Prober, servers *fakeServers, cancel context.CancelFunc) {
		p.Observe(stack("bad"), rollout(1), "pod", serverprobe.Server{URL: "http://bad"})
		p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL})
		synctest.Wait()
		if got := servers.count(); got != 2 {
			t.Errorf("%d questions at first, want 2", got)
		}
		o, silent := p.Observe(stack("bad"), rollout(1), "pod", serverprobe.Server{URL: "http://bad"})
		if o != nil || silent != problem.ErrInternal.Error() || strings.Contains(silent, canary) {
			t.Errorf("%+v %q", o, silent)
		}
		<-time.After(problem.PanicRetryDelay - time.Second)
		if o, _ := p.Observe(stack("a"), rollout(1), "pod", serverprobe.Server{URL: serverURL}); o == nil {
			t.Error("the other server's response was not read")
		}
		if got := servers.count(); got != 1+maxSuccesses {
			t.Errorf("%d questions within the delay, want %d", got, 1+maxSuccesses)
		}
		<-time.After(2 * time.Second)
		if got := servers.count(); got != 2+maxSuccesses {
			t.Errorf("%d questions after the delay, want %d", got, 2+maxSuccesses)
		}
		cancel()
		synctest.Wait()
		checkStopped(t, p)
	})
}

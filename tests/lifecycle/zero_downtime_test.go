// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// These tests take longest, mostly by waiting: they must not be the last ones. Of tests that run in parallel, Go starts those of the last file first.

// Proves: L-27 (rotation of the serving certificate every 12 seconds and of the CA once, under load).
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := installed(t)
	l := certificates.Lifetimes{
		// A busy machine needs many seconds for a step that an idle one makes at once: only what is never renewed may expire.
		CA: 210 * time.Second, CARenewal: 120 * time.Second, // a new one after 90 seconds, and the next after 180
		Serving: 109 * time.Second, ServingRenewal: 97 * time.Second, // a new one every 12 seconds: while one is always due, the CA has to wait
		// Within one overlap, what the API server trusts must be looked at once. After two, only the new CA is trusted, until the next one is made.
		Overlap: 30 * time.Second, Backdate: time.Hour,
	}
	for range 2 {
		s.serve(s.startReplica(replicaOptions{lifetimes: l}))
	}
	s.Apply(spoke("loaded", ""))
	first := s.injected()
	var trusted atomic.Pointer[tls.Config]
	seen := map[string]bool{}
	look := func() []byte {
		bundle := s.injected()
		trusted.Store(trusting(bundle))
		seen[string(s.secret().Data["tls.crt"])] = true
		return bundle
	}
	look()
	const interval = 100 * time.Millisecond // a certificate that is not trusted fails for longer than a moment
	reads := framework.StartLoad(t, interval, s.readsConverted("loaded"))
	handshakes := framework.StartLoad(t, interval, s.shakesHands(trusted.Load))
	began, overlapped := time.Now(), time.Time{}
	framework.Eventually(t, 5*time.Minute, "another authority is the only one that is trusted", func() error {
		bundle := look()
		switch n := bytes.Count(bundle, []byte("BEGIN")); {
		case bytes.Equal(bundle, first):
			return fmt.Errorf("it is still the first one")
		case n > 1 && overlapped.IsZero():
			overlapped = time.Now()
			return fmt.Errorf("old and new are trusted")
		case n > 1:
			return fmt.Errorf("old and new are trusted since %s", time.Since(overlapped))
		}
		return nil
	})
	t.Logf("the authority was replaced after %s; both were trusted for %s", overlapped.Sub(began).Round(time.Second), time.Since(overlapped).Round(time.Second))
	next := len(seen)
	framework.Eventually(t, time.Minute, "the next serving certificate", func() error {
		look()
		if len(seen) == next {
			return fmt.Errorf("still the same")
		}
		return nil
	})
	reads.Check(t, "conversions by the API server")
	handshakes.Check(t, "handshakes with the trust of the API server")
	if len(seen) < 6 {
		t.Errorf("%d serving certificates were seen, want 6 or more", len(seen))
	}
	t.Logf("%d serving certificates in %s", len(seen), time.Since(began).Round(time.Second))
}

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

// Go starts parallel tests of the last file first, so this file has the test that takes longest.

// Proves: L-27 (rotation of the serving certificate every 12 seconds and of the CA once, under load).
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := installed(t)
	l := certificates.Lifetimes{
		// A busy machine may need many seconds for a quick step, so only certificates that are never renewed may expire.
		CA: 210 * time.Second, CARenewal: 120 * time.Second, // renewed after 90 seconds, and again after 180
		// Renewed every 12 seconds; if a renewal were always due, that of the CA would wait.
		Serving: 109 * time.Second, ServingRenewal: 97 * time.Second,
		// Within one overlap, the API server's CA bundle must be checked at once. After two, it has only the new CA, until
		// the next one is made.
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
	const interval = 100 * time.Millisecond // a certificate that is not trusted causes failures for longer than this
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
	s.Eventually("the next serving certificate", func() error {
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

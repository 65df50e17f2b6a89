// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llamastack/llama-stack-k8s-operator/internal/certificate"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// These tests take longest, mostly by waiting: they must not be the last ones. Of tests that run in parallel, Go starts those of the last file first.

// Proves: L-27 (rotation of the serving certificate every 12 seconds and of the CA once, under load).
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	s.install()
	l := certificate.Lifetimes{
		// A busy machine needs many seconds for a step that an idle one makes at once: only what is never renewed may expire.
		CA: 210 * time.Second, CARenewal: 120 * time.Second, // a new one after 90 seconds, and the next after 180
		Serving: 109 * time.Second, ServingRenewal: 97 * time.Second, // a new one every 12 seconds: while one is always due, the CA has to wait
		// Within one overlap, what the API server trusts must be looked at once. After two, only the new CA is trusted, until the next one is made.
		Overlap: 30 * time.Second, Backdate: time.Hour,
	}
	for range 2 {
		s.serve(s.start(replicaOptions{lifetimes: l}))
	}
	s.apply(spoke("loaded", ""))
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
	reads := fixture.StartLoad(t, interval, s.readsConverted("loaded"))
	handshakes := fixture.StartLoad(t, interval, s.shakesHands(trusted.Load))
	began, overlapped := time.Now(), time.Time{}
	fixture.Eventually(t, 5*time.Minute, "another authority is the only one that is trusted", func() error {
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
	fixture.Eventually(t, time.Minute, "the next serving certificate", func() error {
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

// Proves: L-27 (rolling the operator under load loses no request: replicas are replaced one by one, and go on until the
// endpoints are known to have changed).
func TestRollingUnderLoad(t *testing.T) {
	t.Parallel()
	const lag = time.Second
	s := newServing(t)
	s.install()
	o := replicaOptions{drain: webhook.DefaultDrain}
	replicas := []*replica{s.start(o), s.start(o)}
	for _, r := range replicas {
		s.serve(r)
	}
	s.apply(spoke("rolled", ""))
	reads := fixture.StartLoad(t, fixture.OftenAsked, s.readsConverted("rolled"))
	for range 4 {
		replicas = append(replicas, s.start(o))
		s.serve(replicas[len(replicas)-1])
		old := replicas[0]
		replicas = replicas[1:]
		old.end()
		<-time.After(lag) // until every node has heard of it
		s.service.remove(old.server.Address().String())
		<-old.done
	}
	reads.Check(t, "conversions while four replicas were replaced")
}

// Proves: L-25, L-27 (any order of coming and going leaves nothing stuck).
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	s.install()
	s.kubectl("delete", crdName)
	r := s.start(replicaOptions{})
	fixture.Eventually(t, time.Minute, "without the definition the replica says so", func() error {
		if err := r.ready(); err == nil || !strings.Contains(err.Error(), certificate.CRDName) {
			return fmt.Errorf("it says: %w", err)
		}
		return nil
	})
	s.install()
	s.serve(r)
	s.apply(spoke("a", ""))

	s.kubectl("-n", operatorNamespace, "delete", "secret", certificate.SecretName)
	fixture.Eventually(t, time.Minute, "another Secret and another authority work", func() error {
		s.service.cut()
		if err := r.ready(); err != nil {
			return err
		}
		_, err := s.get("v1alpha1", "a")
		return err
	})

	before := s.injected()
	s.kubectl("patch", crdName, "--type=json", "-p", `[{"op":"remove","path":"/spec/conversion/webhook/clientConfig/caBundle"}]`)
	fixture.Eventually(t, time.Minute, "a removed list of caBundle comes back", func() error {
		if !bytes.Equal(before, s.injected()) {
			return fmt.Errorf("it is %d bytes", len(s.injected()))
		}
		return nil
	})
	s.kubectl("apply", "-f", "../../dist/install.yaml")
	if !bytes.Equal(before, s.injected()) {
		t.Error("applying the manifest again removed the CA bundle")
	}
	s.redirect()

	r.end()
	<-r.done
	if _, err := s.get("v1alpha1", "a"); err == nil {
		t.Error("v1alpha1 is read without anybody who converts")
	}
	s.mustGet("v1alpha2", "a")
	s.apply(hub("c", ""), "--server-side")
	s.apply(hub("c", `,"networking":{"port":8500}`), "--server-side")
	if out, err := s.cluster.KubectlInput(t.Context(), hub("a", ""), "apply", "--server-side", "--force-conflicts", "-f", "-"); err == nil ||
		!strings.Contains(out, "conversion webhook") {
		t.Errorf("applied by the server without anybody who converts, although v1alpha1 was applied before: %v %s", err, out)
	}
	s.kubectl("patch", "llsd", "a", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
	if fields := s.mustGet("v1alpha2", "a").GetManagedFields(); len(fields) != 0 {
		t.Errorf("managed fields after a write without anybody who converts: %+v", fields)
	}
	s.kubectl("create", "namespace", "leaving")
	s.apply(strings.Replace(hub("b", ""), `"default"`, `"leaving"`, 1))
	s.kubectl("delete", "namespace", "leaving", "--timeout=60s")
	s.kubectl("delete", "-f", "../../dist/install.yaml", "--timeout=90s")
	if _, err := s.get("v1alpha2", "a"); !apierrors.IsNotFound(err) {
		t.Errorf("the objects are not gone with their definition: %v", err)
	}
}

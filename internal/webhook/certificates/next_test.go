// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	epoch     = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	testNames = []string{"hook.ns.svc"}
)

func mustNext(t *testing.T, f Facts) Decision {
	t.Helper()
	if f.Names == nil {
		f.Names = testNames
	}
	if f.Lifetimes == (Lifetimes{}) {
		f.Lifetimes = DefaultLifetimes()
	}
	before := maps.Clone(f.Data)
	d, err := Next(f)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, f.Data); diff != "" {
		t.Error("Next changed its argument")
	}
	return d
}

// accepts verifies the serving certificate of one content with the CA bundle of another.
func accepts(t *testing.T, trusted, served map[string][]byte, at time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted[keyCABundle])
	pair, err := tls.X509KeyPair(served[keyServing], served[keyServingKey])
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: testNames[0], Roots: roots, CurrentTime: at})
	return err
}

// Proves: L-27 (replicas and API servers with the content before or after each change work together).
func TestCertificatesRotateOverDecades(t *testing.T) {
	now := epoch
	d := mustNext(t, Facts{Now: now})
	did := map[string]int{}
	for now.Before(epoch.Add(30 * 365 * day)) {
		before := d.Data
		d = mustNext(t, Facts{Now: now, Data: before, Injected: true})
		if d.Change == "" {
			if !d.NextAt.After(now) {
				t.Fatalf("at %s there is nothing to do, and it wants to be asked again at %s", now, d.NextAt)
			}
			now = d.NextAt
			continue
		}
		did[d.Change]++
		for name, pair := range map[string][2]map[string][]byte{
			"old trust, new certificate": {before, d.Data},
			"new trust, old certificate": {d.Data, before},
			"new trust, new certificate": {d.Data, d.Data},
		} {
			for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
				if err := accepts(t, pair[0], pair[1], now.Add(skew)); err != nil {
					t.Errorf("%s, %s, clock %s off: %v", d.Change, name, skew, err)
				}
			}
		}
	}
	want := map[string]int{ // CAs rotate after nine years, certificates after 60 days
		"created a new CA certificate":                 3,
		"issued a serving certificate from the new CA": 3,
		"removed the old CA certificate":               3,
		"renewed the serving certificate":              180,
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("in 30 years (-want +got):\n%s", diff)
	}
}

// inOverlap returns a content with a new CA that does not sign yet, and its creation time.
func inOverlap(t *testing.T) (map[string][]byte, time.Time) {
	t.Helper()
	now := epoch
	d := mustNext(t, Facts{Now: now})
	for d.Change != "created a new CA certificate" {
		if d.Change == "" {
			now = d.NextAt
		}
		d = mustNext(t, Facts{Now: now, Data: d.Data, Injected: true})
	}
	return d.Data, now
}

// Proves: L-27 (a new CA signs nothing before its injection, except on the last day of the serving certificate).
func TestNewCAWaitsUntilItIsInjected(t *testing.T) {
	data, made := inOverlap(t)
	pair, err := tls.X509KeyPair(data[keyServing], data[keyServingKey])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after    time.Duration
		injected bool
		did      string
		wake     time.Time
	}{
		{0, true, "", made.Add(day)},
		{0, false, "", made.Add(day)},
		{day - time.Second, true, "", made.Add(day)},
		{day, false, "", pair.Leaf.NotAfter.Add(-day)},
		{7 * day, false, "", pair.Leaf.NotAfter.Add(-day)},
		{day, true, "issued a serving certificate from the new CA", made.Add(day)},
		{pair.Leaf.NotAfter.Sub(made) - day, false, "issued a serving certificate from the new CA", pair.Leaf.NotAfter.Add(-day)},
	} {
		d := mustNext(t, Facts{Now: made.Add(c.after), Data: data, Injected: c.injected})
		if d.Change != c.did || !d.NextAt.Equal(c.wake) {
			t.Errorf("%s after it was made, injected %t: it %q and wakes at %s, want %q and %s", c.after, c.injected, d.Change, d.NextAt, c.did, c.wake)
		}
	}
}

// Proves: L-27 (any content of the Secret is replaced by a working one).
func TestContentThatCannotBeUsed(t *testing.T) {
	good := mustNext(t, Facts{Now: epoch}).Data
	other := mustNext(t, Facts{Now: epoch}).Data
	with := func(changes map[string][]byte) map[string][]byte {
		data := maps.Clone(good)
		maps.Copy(data, changes)
		return data
	}
	const (
		anew  = "created a CA certificate and a serving certificate"
		again = "created a serving certificate"
	)
	for name, c := range map[string]struct {
		data  map[string][]byte
		at    time.Time
		names []string
		did   string
	}{
		"none":                         {nil, epoch, nil, anew},
		"good":                         {good, epoch, nil, ""},
		"of cert-manager, without key": {with(map[string][]byte{keyCAKey: nil}), epoch, nil, anew},
		"no CA bundle":                 {with(map[string][]byte{keyCABundle: []byte("-----BEGIN")}), epoch, nil, anew},
		"another CA's key":             {with(map[string][]byte{keyCAKey: other[keyCAKey]}), epoch, nil, anew},
		"a damaged key":                {with(map[string][]byte{keyCAKey: good[keyCABundle]}), epoch, nil, anew},
		"a CA that has ended":          {good, epoch.Add(3651 * day), nil, anew},
		"a clock that was ahead":       {good, epoch.Add(-2 * time.Hour), nil, anew},
		"a CA that may not sign": {
			with(map[string][]byte{keyCABundle: good[keyServing], keyCAKey: good[keyServingKey], keyServing: nil}), epoch, nil, anew,
		},
		"a damaged certificate":        {with(map[string][]byte{keyServing: []byte("x")}), epoch, nil, again},
		"another one's key":            {with(map[string][]byte{keyServingKey: other[keyServingKey]}), epoch, nil, again},
		"of another CA":                {with(map[string][]byte{keyServing: other[keyServing], keyServingKey: other[keyServingKey]}), epoch, nil, again},
		"a certificate that has ended": {good, epoch.Add(91 * day), nil, again},
		"for another name":             {good, epoch, []string{"new.ns.svc"}, again},
	} {
		names := c.names
		if names == nil {
			names = testNames
		}
		d := mustNext(t, Facts{Now: c.at, Data: c.data, Names: names})
		if d.Change != c.did {
			t.Errorf("%s: it %q, want %q", name, d.Change, c.did)
		}
		if d.Change == again && !bytes.Equal(d.Data[keyCABundle], c.data[keyCABundle]) {
			t.Errorf("%s: the CA bundle changed", name)
		}
		if next := mustNext(t, Facts{Now: c.at, Data: d.Data, Names: names, Injected: true}); next.Change != "" {
			t.Errorf("%s: after %q it goes on to %q", name, d.Change, next.Change)
		}
	}
}

// A certificate that cannot be served is an error and not written; the retry backs off.
func TestNextRefusesNamesThatNoCertificateCanHave(t *testing.T) {
	for name, data := range map[string]map[string][]byte{"none yet": nil, "one for another name": mustNext(t, Facts{Now: epoch}).Data} {
		d, err := Next(Facts{Now: epoch, Data: data, Names: []string{"."}, Lifetimes: DefaultLifetimes()})
		if err == nil || !strings.Contains(err.Error(), "cannot be served") {
			t.Errorf("%s: it %q, and says %v", name, d.Change, err)
		}
	}
}

// Proves: L-27.
func TestCertificatesRecoverAfterAnyDowntime(t *testing.T) {
	data := mustNext(t, Facts{Now: epoch}).Data
	for away := time.Duration(0); away < 12*365*day; away += 50 * day {
		now, d := epoch.Add(away), Decision{Data: data}
		steps := 0
		for d = mustNext(t, Facts{Now: now, Data: d.Data}); d.Change != ""; d = mustNext(t, Facts{Now: now, Data: d.Data}) {
			steps++
			if steps > 3 {
				t.Fatalf("away for %s: it still %q", away, d.Change)
			}
		}
		if err := accepts(t, d.Data, d.Data, now); err != nil {
			t.Errorf("away for %s: %v", away, err)
		}
	}
}

// TestLifetimesFitTogether checks the assumptions of Next.
func TestLifetimesFitTogether(t *testing.T) {
	l := DefaultLifetimes()
	if l.Serving > l.CARenewal {
		t.Error("a serving certificate would be cut short by its CA before that is replaced")
	}
	if 2*l.Overlap > l.ServingRenewal {
		t.Error("a serving certificate could end while the next CA does not sign yet")
	}
	if 2*l.Overlap+l.CARenewal > l.CA {
		t.Error("the next CA would be made before this one signs alone")
	}
}

// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Proves: R56, L-34.
func TestParseRejectsInvalidInput(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"  ":                          "",
		"llamastack.io/shard=a":       "",
		"shard notin (a,b), !private": "",
		"shard in ()":                 "",
		"a b":                         `--watch-label-selector: Invalid value: "a b": `,
		"-x=y":                        `--watch-label-selector: Invalid value: "-x=y": `,
		",":                           `--watch-label-selector: Invalid value: ",": `,
		strings.Repeat("a", 2049):     "has 2049 bytes, more than 2048",
	} {
		selector, err := Parse(text)
		if want == "" {
			if err != nil || (selector == nil) != (strings.TrimSpace(text) == "") {
				t.Errorf("%q: %v, %v", text, selector, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `such as "llamastack.io/shard=a"`) {
			t.Errorf("%.40q: error %v, want %q and how to write it", text, err, want)
		}
	}
}

// Proves: R71.
func TestLeaseNameDependsOnSelector(t *testing.T) {
	name := func(text string) string {
		selector, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return Lease(selector)
	}
	if got := name(""); got != "54e06e98.llamastack.io" {
		t.Errorf("without a selector: %s, want the Lease of release 0.9", got)
	}
	same := map[string][]string{}
	for _, class := range [][]string{
		{""},
		{"shard=a", "shard==a", "shard in (a)", "shard=a,shard=a", " shard = a "},
		{"shard in (a,b)", "shard in (b,a)"},
		{"shard notin (a)", "shard!=a"},
		{"shard", "shard,shard"},
		{"!shard"},
		{"shard=a,team=b", "team=b,shard=a"},
		{"shard=" + strings.Repeat("a", 63)},
	} {
		lease := name(class[0])
		if errs := validation.IsDNS1123Subdomain(lease); len(errs) > 0 {
			t.Errorf("%q: %s: %v", class[0], lease, errs)
		}
		for _, text := range class {
			if got := name(text); got != lease {
				t.Errorf("%q has %s, %q has %s: they select the same", class[0], lease, text, got)
			}
		}
		if others := same[lease]; others != nil {
			t.Errorf("%q and %q share %s", class[0], others, lease)
		}
		same[lease] = class
	}
}

// leases is a reader with one Lease, which is renewed until a time.
type leases struct {
	client.Reader
	until  time.Time
	holder string
}

func (l *leases) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	lease := o.(*coordinationv1.Lease)
	seconds := int32(15)
	at := time.Now()
	if at.After(l.until) {
		at = l.until
	}
	lease.ResourceVersion = at.String()
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &l.holder, LeaseDurationSeconds: &seconds}
	return nil
}

// Proves: R71, R21 (the shard starts once the operator without a selector has released its Lease or has not renewed it
// in time).
func TestAwaitUnshardedWaitsForRelease(t *testing.T) {
	if err := AwaitUnsharded(t.Context(), fake.NewClientBuilder().Build(), "op"); err != nil {
		t.Errorf("no Lease: %v", err)
	}
	handedOver := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "op", Name: Lease(nil)}}
	if err := AwaitUnsharded(t.Context(), fake.NewClientBuilder().WithObjects(handedOver).Build(), "op"); err != nil {
		t.Errorf("a Lease without a holder: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := AwaitUnsharded(t.Context(), &leases{until: began.Add(time.Minute), holder: "old"}, "op"); err != nil {
			t.Error(err)
		}
		if took := time.Since(began).Round(time.Second); took < 75*time.Second || took > 78*time.Second {
			t.Errorf("began after %s, want a minute and the duration of the Lease", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := AwaitUnsharded(ctx, &leases{until: time.Now().Add(24 * time.Hour), holder: "old"}, "op"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside a living operator: %v", err)
		}
	})
}

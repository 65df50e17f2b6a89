// SPDX-License-Identifier: Apache-2.0

package written

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
)

func at(uid types.UID, version string) *v1alpha2.LlamaStackDistribution {
	cr := &v1alpha2.LlamaStackDistribution{}
	cr.Namespace, cr.Name, cr.UID, cr.ResourceVersion = "ai", "a", uid, version
	return cr
}

// Proves: L-03, L-29 (what the cache has is older only where it is the same custom resource and its version came before).
func TestVersionsKnowsWhatIsOlder(t *testing.T) {
	for name, c := range map[string]struct {
		written *v1alpha2.LlamaStackDistribution
		older   bool
	}{
		"nothing was written":        {nil, false},
		"an older version":           {at("u", "5"), false},
		"the version of the cache":   {at("u", "10"), false},
		"a newer version":            {at("u", "100000"), true},
		"of an earlier one, removed": {at("v", "100000"), false},
		"not comparable":             {at("u", "x"), false},
	} {
		var v Versions
		if c.written != nil {
			v.Remember(c.written)
		}
		cached, now := at("u", "10"), time.Now()
		if got := v.IsOlder(cached, v.Last(client.ObjectKeyFromObject(cached)), now); got != c.older || v.IsAwaited(client.ObjectKeyFromObject(cached), now) != c.older || (len(v.all) > 0) != c.older {
			t.Errorf("%s: older %v, want %v; remembered %v", name, got, c.older, v.all)
		}
		v.Forget(client.ObjectKeyFromObject(cached))
		if len(v.all) > 0 {
			t.Errorf("%s: remembered after it is gone", name)
		}
	}
}

// Proves: L-03 (the cache is looked into rarely, and an event of the version that was written ends the wait).
func TestVersionsWaitsForTheEvent(t *testing.T) {
	var v Versions
	before, after := at("u", "1"), at("u", "2")
	key, now := client.ObjectKeyFromObject(before), time.Now()
	v.Remember(after)
	if v.IsAwaited(key, now) { // the event may have been there before the answer
		t.Error("awaited before anybody looked into the cache")
	}
	last := v.Last(key)
	if !v.IsOlder(before, last, now) || !v.IsAwaited(key, now.Add(copyDelay-1)) || v.IsAwaited(key, now.Add(copyDelay)) {
		t.Error("each look copies the whole resource")
	}
	noticed := v.Noticed()
	if !noticed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: before}) || !v.IsAwaited(key, now) {
		t.Error("an event with an older version ends the wait")
	}
	if !noticed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) || v.IsAwaited(key, now) || v.Last(key) != (apply.Version{}) {
		t.Errorf("remembered %v after the event", v.all)
	}
	// The event came after a reconcile had read the cache, and before it asked.
	if !v.IsOlder(before, last, now) || v.IsOlder(after, last, now) {
		t.Error("what was read before the event is not older")
	}
}

// SPDX-License-Identifier: Apache-2.0

package written

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/llamastack/llama-stack-k8s-operator/internal/apply"
)

// Versions remembers which version of each custom resource came of the last write of its status, until the cache has it. A reconcile of an older
// version would compare with a status that is no longer stored, and the API server would refuse to write what came of it. Its zero value is ready.
type Versions struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*version
}

// version is a version of one custom resource. Until next, only the cache's event shows that the cache has it.
type version struct {
	apply.Version

	next time.Time
}

const (
	// CacheDelay is how long a reconcile waits for the cache after the operator itself wrote the status.
	CacheDelay = 50 * time.Millisecond
	// copyDelay is how often it looks into the cache meanwhile: of a large custom resource the cache takes seconds to learn, and each look copies
	// all of it.
	copyDelay = 2 * time.Second
)

// Remember keeps the version that came of a write of the status.
func (v *Versions) Remember(o metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.NamespacedName]*version{}
	}
	v.all[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = &version{Version: apply.VersionOf(o)}
}

// IsAwaited reports whether the cache is known to lack the last write.
func (v *Versions) IsAwaited(key types.NamespacedName, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	written := v.all[key]
	return written != nil && now.Before(written.next)
}

// Last returns the version that came of the last write, where the cache is not known to have it. Ask for it before the cache is read: what is read may be
// older, and the event that ends the wait may come right after.
func (v *Versions) Last(key types.NamespacedName) apply.Version {
	v.mu.Lock()
	defer v.mu.Unlock()
	if written := v.all[key]; written != nil {
		return written.Version
	}
	return apply.Version{}
}

// IsOlder reports whether the object, as it was read from the cache, is as it was before the last write of its status.
func (v *Versions) IsOlder(o client.Object, last apply.Version, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if written := v.newer(o); written != nil {
		written.next = now.Add(copyDelay)
	}
	return last.IsNewerThan(o)
}

// Noticed lets all events through, and learns from them what the cache has.
func (v *Versions) Noticed() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.newer(o)
		return true
	})
}

// newer returns what was written after the object; nil where it is the last there is, and then nothing is remembered of it any more.
func (v *Versions) newer(o client.Object) *version {
	key := client.ObjectKeyFromObject(o)
	written := v.all[key]
	if written != nil && !written.IsNewerThan(o) {
		delete(v.all, key)
		return nil
	}
	return written
}

// Forget drops what was remembered of a custom resource that is gone.
func (v *Versions) Forget(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, key)
}

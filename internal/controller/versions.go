// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions remembers which version of each custom resource came of the last write of its status, until the cache has it. A reconcile of an older
// version would compare with a status that is no longer stored, and the API server would refuse to write what came of it. Its zero value is ready.
type versions struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*writtenVersion
}

// writtenVersion is the version of one custom resource, and how long a reconcile waits for the cache next.
type writtenVersion struct {
	uid             types.UID
	resourceVersion string
	delay           time.Duration
}

const (
	// cacheDelay is how long a reconcile waits for the cache at first after the operator itself wrote the status. It doubles up to
	// maxCacheDelay: of a large custom resource, the cache takes seconds to learn, and each look at it copies all of it.
	cacheDelay    = 50 * time.Millisecond
	maxCacheDelay = 2 * time.Second
)

func (v *versions) remember(written metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.NamespacedName]*writtenVersion{}
	}
	v.all[types.NamespacedName{Namespace: written.GetNamespace(), Name: written.GetName()}] = &writtenVersion{
		uid: written.GetUID(), resourceVersion: written.GetResourceVersion(), delay: cacheDelay,
	}
}

// wait returns how long to wait for the cache, where the object is as it was before the last write of its status; zero where it is not.
func (v *versions) wait(o client.Object) time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	written := v.all[key]
	if written == nil {
		return 0
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), written.resourceVersion)
	if err != nil || order >= 0 || o.GetUID() != written.uid {
		delete(v.all, key)
		return 0
	}
	delay := written.delay
	written.delay = min(2*delay, maxCacheDelay)
	return delay
}

func (v *versions) forget(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, key)
}

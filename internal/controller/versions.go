// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// versions remembers which version of each custom resource came of the last write of its status, until the cache has it. A reconcile of an older
// version would compare with a status that is no longer stored, and the API server would refuse to write what came of it. Its zero value is ready.
type versions struct {
	mu  sync.Mutex
	all map[types.NamespacedName]metav1.Object
}

func (v *versions) remember(written metav1.Object) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[types.NamespacedName]metav1.Object{}
	}
	v.all[types.NamespacedName{Namespace: written.GetNamespace(), Name: written.GetName()}] = &metav1.ObjectMeta{
		UID: written.GetUID(), ResourceVersion: written.GetResourceVersion(),
	}
}

// isOlder reports whether the object is as it was before the last write of its status.
func (v *versions) isOlder(o client.Object) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := client.ObjectKeyFromObject(o)
	written := v.all[key]
	if written == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), written.GetResourceVersion())
	if err == nil && order < 0 && o.GetUID() == written.GetUID() {
		return true
	}
	delete(v.all, key)
	return false
}

func (v *versions) forget(key types.NamespacedName) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, key)
}

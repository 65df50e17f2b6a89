// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"crypto/sha256"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// objectID distinguishes the objects of one owner.
type objectID struct{ kind, name string }

// Version is the version of an object that came of a write.
type Version struct {
	uid             types.UID
	resourceVersion string
}

// VersionOf returns the version of an object as the API server returned it.
func VersionOf(o metav1.Object) Version {
	return Version{uid: o.GetUID(), resourceVersion: o.GetResourceVersion()}
}

// IsNewerThan reports whether this version came after that of the object, as the caches have it. It is not where the two cannot be compared, as
// when the object is another one of the same name.
func (v *Version) IsNewerThan(live metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(v.resourceVersion, live.GetResourceVersion())
	return err == nil && order > 0 && v.uid == live.GetUID()
}

// applied is what was sent last for an object, and the version that came of it.
type applied struct {
	Version

	desired [sha256.Size]byte
}

// unchanged reports whether the live object is what was written last, and what is desired has not changed since. Caches that do not know
// yet what was written last show an older version.
func (a *Applier) unchanged(owner *v1alpha2.LlamaStackDistribution, id objectID, live metav1.Object, desired [sha256.Size]byte) bool {
	last, ok := a.lastOf(owner, id)
	return ok && last.uid == live.GetUID() && last.desired == desired && (last.resourceVersion == live.GetResourceVersion() || last.IsNewerThan(live))
}

// IsAsWritten reports whether the caches have an object as it was written last; of what is generated, whether they have it. Of the object only its
// type, namespace and name matter.
func (a *Applier) IsAsWritten(ctx context.Context, owner *v1alpha2.LlamaStackDistribution, o objects.Object) (bool, error) {
	gvk := o.GetObjectKind().GroupVersionKind()
	found, err := a.cached(ctx, o)
	if err != nil {
		return false, err
	}
	if found == nil {
		return false, apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, o.GetName())
	}
	last, _ := a.lastOf(owner, objectID{gvk.Kind, o.GetName()})
	return metav1.IsControlledBy(found, owner) && (isGenerated(gvk) || last.uid == found.GetUID() && last.resourceVersion == found.GetResourceVersion()), nil
}

func (a *Applier) lastOf(owner *v1alpha2.LlamaStackDistribution, id objectID) (applied, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.last[client.ObjectKeyFromObject(owner)][id]
	return last, ok
}

func (a *Applier) remember(owner *v1alpha2.LlamaStackDistribution, id objectID, o metav1.Object, desired [sha256.Size]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := client.ObjectKeyFromObject(owner)
	if a.last == nil {
		a.last = map[types.NamespacedName]map[objectID]applied{}
	}
	if a.last[key] == nil {
		a.last[key] = map[objectID]applied{}
	}
	a.last[key][id] = applied{Version: VersionOf(o), desired: desired}
}

// Forget drops what was remembered of an owner that is gone.
func (a *Applier) Forget(owner types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, owner)
}

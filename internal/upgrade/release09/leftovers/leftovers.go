// SPDX-License-Identifier: Apache-2.0

package leftovers

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// prefix begins the names of all objects of release 0.9's manifest. ClusterRole metrics-reader is excluded, because the
// current manifest has it too.
const prefix = "llama-stack-k8s-operator-"

// Page documents how to remove the remaining objects.
const Page = "docs/migration-v1alpha1-to-v1alpha2.md#what-stays-of-release-09"

// controller-gen reads these markers only if a blank line follows.
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,resourceNames=llama-stack-k8s-operator-proxy-role;llama-stack-k8s-operator-llsd-editor-role;llama-stack-k8s-operator-llsd-viewer-role,verbs=get
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterrolebindings,resourceNames=llama-stack-k8s-operator-proxy-rolebinding,verbs=get;delete

// Leftovers is a Runnable that removes and reports leftovers.
type Leftovers struct {
	// Live reads from the API server.
	Live client.Reader
	// Client deletes objects.
	Client client.Writer
	// Namespace is the operator's namespace.
	Namespace string
	// Recorder records the Event.
	Recorder events.EventRecorder
}

const reason = "LeftByRelease09"

// NeedLeaderElection returns true.
func (*Leftovers) NeedLeaderElection() bool { return true }

// Start runs Once and logs errors, because leftovers are harmless.
func (l *Leftovers) Start(ctx context.Context) error {
	removed, left, err := l.Once(ctx)
	log := logf.FromContext(ctx)
	if err != nil {
		log.Info("cannot find leftovers of release 0.9", "error", err.Error())
	}
	if len(removed) > 0 {
		log.Info("removed leftovers of release 0.9", "objects", removed)
	}
	if len(left) > 0 {
		log.Info("objects of release 0.9 remain: remove them if they are unused", "objects", left, "see", Page)
		l.Recorder.Eventf(l.operator(ctx), nil, corev1.EventTypeNormal, reason, "LookForLeftovers",
			"objects of release 0.9 remain: %s: remove those that are unused, see %s", strings.Join(left, ", "), Page)
	}
	return nil
}

// operator returns the operator's Deployment, the subject of the Event.
func (l *Leftovers) operator(ctx context.Context) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: prefix + "controller-manager"}}
	if err := l.Live.Get(ctx, client.ObjectKeyFromObject(d), d); err != nil {
		logf.FromContext(ctx).V(1).Info("cannot read the operator's Deployment", "error",
			err.Error()) // the Event lacks the UID then
	}
	return d
}

// Once removes unused objects. It returns the removed and the remaining ones, each as "Kind name".
func (l *Leftovers) Once(ctx context.Context) (removed, left []string, err error) {
	binding := &rbacv1.ClusterRoleBinding{}
	err = l.Live.Get(ctx, client.ObjectKey{Name: prefix + "proxy-rolebinding"}, binding)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, nil, err
	case err == nil && l.isOwn(binding):
		if err := client.IgnoreNotFound(l.Client.Delete(ctx, binding,
			client.Preconditions{UID: new(binding.UID)})); err != nil {
			return nil, nil, err
		}
		removed = append(removed, "ClusterRoleBinding "+binding.Name)
	case err == nil:
		left = append(left, "ClusterRoleBinding "+binding.Name)
	}
	for _, o := range []struct {
		kind      schema.GroupVersionKind
		name      string
		namespace string
	}{
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "proxy-role", ""},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "llsd-editor-role", ""},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "llsd-viewer-role", ""},
		{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "manager-config", l.Namespace},
		{schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, "controller-manager-pdb",
			l.Namespace},
	} {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(o.kind)
		err := l.Live.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: prefix + o.name}, found)
		if client.IgnoreNotFound(err) != nil {
			return removed, left, err
		}
		if err == nil {
			left = append(left, o.kind.Kind+" "+found.Name)
		}
	}
	return removed, left, nil
}

// isOwn reports whether the binding is unchanged from release 0.9's manifest: only the operator's ServiceAccount is
// bound.
func (l *Leftovers) isOwn(b *rbacv1.ClusterRoleBinding) bool {
	return b.RoleRef.Kind == "ClusterRole" && b.RoleRef.Name == prefix+"proxy-role" &&
		slices.Equal(b.Subjects, []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Name: prefix + "controller-manager", Namespace: l.Namespace},
		})
}

// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

const (
	// noCallersDelay is the polling interval while no pod may call the server. The operator watches no pods of others:
	// all pods of a cluster do not fit in its memory.
	noCallersDelay = time.Minute
	// callersDelay is the polling interval while there is such a pod.
	callersDelay = 10 * time.Minute
)

// observeCallers looks for a pod that spec.networking.allowedFrom.pods selects. It reads at most one pod of each
// namespace. Without permission to list pods in a namespace, the result is unknown.
func (r *Reconciler) observeCallers(ctx context.Context, s *scope) {
	namespaces := objects.CallerNamespaces(s.cr)
	if s.desired == nil || s.problems.HasErrors() || len(namespaces) == 0 {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(objects.AllowedFrom(&s.cr.Spec).Pods)
	if err != nil {
		return // build reported it
	}
	s.callers = status.CallersMissing
	for _, namespace := range namespaces {
		found, err := r.hasPod(ctx, namespace, selector)
		switch {
		case apierrors.IsForbidden(err):
			s.callers = status.CallersUnknown
		case err != nil:
			logf.FromContext(ctx).Error(err, "cannot look for pods that may call the server", "in", namespace)
			s.callers = status.CallersUnknown
			s.requeueBy(noCallersDelay)
		case found:
			s.callers = status.CallersFound
			s.requeueBy(callersDelay)
			return
		}
	}
	if s.callers == status.CallersMissing {
		s.requeueBy(noCallersDelay)
	}
}

func (r *Reconciler) hasPod(ctx context.Context, namespace string, selector labels.Selector) (bool, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	err := r.live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector},
		client.Limit(1))
	return len(list.Items) > 0, err
}

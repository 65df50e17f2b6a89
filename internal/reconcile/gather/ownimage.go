// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const managerContainer = "manager"

// OperatorImage returns the given image, or that of the operator's pod, or "" if both are unknown.
func OperatorImage(ctx context.Context, live client.Reader, name string, at types.NamespacedName) (string, error) {
	if name != "" || at.Name == "" {
		return name, nil
	}
	var pod corev1.Pod
	switch err := live.Get(ctx, at, &pod); {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		logf.FromContext(ctx).Error(err, "cannot read the operator's pod; external providers need --operator-image", "pod",
			at.String())
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the operator's Pod %s for its image: %w", at, err)
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == managerContainer || len(pod.Spec.Containers) == 1 {
			return c.Image, nil
		}
	}
	return "", nil
}

// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerContainer is the name of the operator's container in its pod.
const managerContainer = "manager"

// OwnImage knows the operator's image, of which pods with external providers run a program. Its fields are set once, before the first call.
type OwnImage struct {
	// Name is the image where a flag names it; empty means that of the operator's pod.
	Name string
	// Live reads the operator's pod.
	Live client.Reader
	// Pod is the operator's pod; its name is empty where the operator does not run in one.
	Pod types.NamespacedName

	mu    sync.Mutex
	found string
}

// Image returns the image, as the operator's pod names it; empty where there is no way to know it. The pod is read once: its image does not change
// without a restart of its container.
func (o *OwnImage) Image(ctx context.Context) (string, error) {
	if o == nil || o.Name != "" || o.Pod.Name == "" {
		return o.named(), nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.found != "" {
		return o.found, nil
	}
	var pod corev1.Pod
	if err := o.Live.Get(ctx, o.Pod, &pod); err != nil {
		return "", err
	}
	containers := pod.Spec.Containers
	for i := range containers {
		if containers[i].Name == managerContainer || len(containers) == 1 {
			o.found = containers[i].Image
			return o.found, nil
		}
	}
	return "", fmt.Errorf("it has no container %s", managerContainer)
}

func (o *OwnImage) named() string {
	if o == nil {
		return ""
	}
	return o.Name
}

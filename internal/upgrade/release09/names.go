// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// RoleBindingName returns the name of release 0.9's obsolete RoleBinding.
func RoleBindingName(resource string) string { return resource + "-rb" }

// CABundleName returns the name of release 0.9's ConfigMap of CA certificates, which only its pods use.
func CABundleName(resource string) string { return resource + "-ca-bundle" }

// Image returns the image of release 0.9 in the live Deployment, or the recorded one after adoption; empty if there was
// none. container is the server container's name; empty means the default.
func Image(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	if !IsUnadopted(live) {
		return live.Annotations[names.AnnotationAdoptedImage]
	}
	for i := range live.Spec.Template.Spec.Containers {
		if c := &live.Spec.Template.Spec.Containers[i]; c.Name == cmp.Or(container, names.ContainerName) {
			return c.Image
		}
	}
	return ""
}

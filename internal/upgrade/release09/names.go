// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// RoleBindingName is the name of a RoleBinding that release 0.9 makes and nobody needs any more.
func RoleBindingName(resource string) string { return resource + "-rb" }

// CABundleName is the name of a ConfigMap of CA certificates that release 0.9 makes: its pods need it, and nobody else.
func CABundleName(resource string) string { return resource + "-ca-bundle" }

// Image is the image that release 0.9 left in the live Deployment of a custom resource that names none itself; empty
// where it left none. container is the name of the server's container; empty for the operator's own choice.
func Image(live *appsv1.Deployment, container string) string {
	if live == nil {
		return ""
	}
	if !Left(live) {
		return live.Annotations[objects.AnnotationAdoptedImage]
	}
	for i := range live.Spec.Template.Spec.Containers {
		if c := &live.Spec.Template.Spec.Containers[i]; c.Name == cmp.Or(container, objects.ContainerName) {
			return c.Image
		}
	}
	return ""
}

// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Replay creates recorded custom resources of the namespace "own", converted to v1alpha2, and the objects that release
// 0.9 made for them.
func (e *Env) Replay(names ...string) []*framework.Recorded {
	e.T.Helper()
	recorded, beside, err := framework.Recording()
	framework.NoError(e.T, err)
	// The pods of release 0.9 do not meet the restricted Pod Security Standard.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.Name}}
	privileged := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
	framework.NoError(e.T, Admin.Patch(e.T.Context(), ns, privileged))
	for _, o := range beside {
		if o.GetNamespace() == "own" {
			framework.NoError(e.T, Admin.Create(e.T.Context(), framework.WithoutServerFields(o, e.Name)))
		}
	}
	var made []*framework.Recorded
	for _, name := range names {
		for _, one := range recorded {
			if one.Name() != name {
				continue
			}
			resource := &unstructured.Unstructured{Object: v1alpha1.ToV1alpha2(framework.WithoutServerFields(one.Resource, e.Name).Object)}
			framework.NoError(e.T, Admin.Create(e.T.Context(), resource))
			framework.NoError(e.T, one.Replay(e.T.Context(), Admin, resource))
			made = append(made, one)
		}
	}
	if len(made) != len(names) {
		e.T.Fatalf("recorded are %d of %v", len(made), names)
	}
	return made
}

// WaitRevision waits until the Deployment has the revision and its controller has seen it.
func (e *Env) WaitRevision(name, revision string) {
	e.T.Helper()
	e.Eventually(name+" has revision "+revision, func() error {
		d := e.Deployment(name)
		if got := d.Annotations["deployment.kubernetes.io/revision"]; got != revision || d.Status.ObservedGeneration != d.Generation {
			return fmt.Errorf("revision %q, %+v", got, d.Status)
		}
		return nil
	})
}

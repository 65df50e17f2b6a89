// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"reflect"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: WEIGHT (the Deployment says which share its server takes, and its pods do not change with it).
func TestShareIsOnTheDeployment(t *testing.T) {
	share := objects.Share{Name: "my-stack", Host: "llama.example.com", Weight: 10, Port: 9000}
	plain := objects.Deployment(simple(t))
	shared := objects.Deployment(with(t, func(p *objects.Params) { share.Name, p.Share = p.CR.Name, &share }))
	if got, found := objects.ShareOf(shared); !found || got != share {
		t.Errorf("%+v, %v", got, found)
	}
	if _, found := objects.ShareOf(plain); found {
		t.Errorf("annotations %v", plain.Annotations)
	}
	if !reflect.DeepEqual(plain.Spec, shared.Spec) {
		t.Error("the pods differ")
	}
	for _, wrong := range []string{"", "a", "a 1", "a b 1", "a -1 8321", "a 1 0"} {
		shared.Annotations[names.AnnotationShare] = wrong
		if got, found := objects.ShareOf(shared); found {
			t.Errorf("%q is %+v", wrong, got)
		}
	}
}

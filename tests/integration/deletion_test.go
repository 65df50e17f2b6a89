// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: STAT (the phase is Terminating while a foreground deletion waits for an object, and nothing is made again).
func TestForegroundDeletionIsVisibleAndFinal(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.ready()
	finalizers := func(list string) {
		e.Kubectl("patch", "deployment", "my-stack", "--type=merge", "-p", `{"metadata":{"finalizers":`+list+`}}`)
	}
	finalizers(`["example.com/holds"]`)
	t.Cleanup(func() { // or the namespace stays
		_, _ = suite.Cluster.KubectlInput(context.Background(), "", "patch", "deployment", "my-stack", "-n", e.Name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	})
	e.Quiet(op)
	before := len(op.Requests.All())
	e.Kubectl("delete", "llsd", "my-stack", "--cascade=foreground", "--wait=false")
	e.Eventually("the phase is Terminating", func() error {
		if cr := e.CR("my-stack"); cr.Status.Phase != v1alpha2.PhaseTerminating {
			return fmt.Errorf("phase %s, deleted at %v, finalizers %v", cr.Status.Phase, cr.DeletionTimestamp, cr.Finalizers)
		}
		return nil
	})
	e.Eventually("the Service is deleted", func() error {
		if err := e.Get(&corev1.Service{}, "my-stack-service"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
	e.Quiet(op)
	if phase := e.CR("my-stack").Status.Phase; phase != v1alpha2.PhaseTerminating {
		t.Errorf("phase %s", phase)
	}
	for _, request := range op.Requests.Writes(before) {
		if !strings.Contains(request, "/llamastackdistributions/") {
			t.Errorf("written: %s", request)
		}
	}
	finalizers("null")
	e.Eventually("all of it is gone", func() error {
		if err := e.Get(&v1alpha2.LlamaStackDistribution{}, "my-stack"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the custom resource: %w", err)
		}
		if err := e.Get(&appsv1.Deployment{}, "my-stack"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Deployment: %w", err)
		}
		return nil
	})
}

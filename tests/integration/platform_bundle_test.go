// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// trusted returns the CA bundle that the pods of a Deployment trust; empty means the image's own CA certificates.
func (e *env) trusted(d *appsv1.Deployment) string {
	e.T.Helper()
	name := objects.GeneratedFor(d.Name, &d.Spec.Template.Spec).CABundle
	if name == "" {
		return ""
	}
	cm := &corev1.ConfigMap{}
	framework.NoError(e.T, e.Get(cm, name))
	return cm.Data["ca-bundle.crt"]
}

// Proves: R40, R97, L-23 (servers trust the CA bundle that the platform puts into their namespace; each change causes
// one rollout).
func TestPlatformBundleIsTrustedAndWatched(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.StartOperator()
	e.Apply(framework.Manifest("s", "distribution: {name: starter}"))
	e.WaitReady("s")
	if got := e.trusted(e.Deployment("s")); got != "" {
		t.Fatalf("trusted without a bundle: %s", got)
	}
	first, second := framework.NewCACertificate(t), framework.NewCACertificate(t)
	bundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: build.PlatformBundle}, Data: map[string]string{"odh-ca-bundle.crt": first},
	}
	service := framework.NewCACertificate(t)
	serviceBundle := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: build.ServiceBundle}, Data: map[string]string{"service-ca.crt": service},
	}
	generation := e.Deployment("s").Generation
	for _, step := range []struct {
		what, want string
		rollouts   int64
		change     func() error
	}{
		{"the platform makes its bundle", first, 1, func() error { return suite.Admin.Create(t.Context(), bundle) }},
		{"the platform adds certificates", second + first, 1, func() error {
			bundle.Data["ca-bundle.crt"] = second
			return suite.Admin.Update(t.Context(), bundle)
		}},
		{"nothing but a label and a comment changes", second + first, 0, func() error {
			bundle.Labels, bundle.Data["notes"] = map[string]string{"a": "b"}, "# none"
			return suite.Admin.Update(t.Context(), bundle)
		}},
		{"the platform makes the CA of its Services", second + first + service, 1, func() error { return suite.Admin.Create(t.Context(), serviceBundle) }},
		{"that CA goes", second + first, 1, func() error { return suite.Admin.Delete(t.Context(), serviceBundle) }},
		{"the bundle goes", "", 1, func() error { return suite.Admin.Delete(t.Context(), bundle, client.Preconditions{UID: &bundle.UID}) }},
	} {
		if err := step.change(); err != nil {
			t.Fatal(step.what, err)
		}
		generation += step.rollouts
		e.Eventually(step.what, func() error {
			if d := e.Deployment("s"); d.Generation != generation || e.trusted(d) != step.want {
				return fmt.Errorf("generation %d, want %d; trusted is %s", d.Generation, generation, e.trusted(d))
			}
			return nil
		})
		e.WaitReady("s")
		e.Quiet(op)
		if d := e.Deployment("s"); d.Generation != generation {
			t.Errorf("%s: rolled out %d times more", step.what, d.Generation-generation)
		}
	}
}

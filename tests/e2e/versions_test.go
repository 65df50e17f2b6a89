// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// asV1alpha1 reads the resource through the older version.
func (s stack) asV1alpha1(ctx context.Context) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("llamastack.io/v1alpha1")
	u.SetKind("LlamaStackDistribution")
	return u, kube.Get(ctx, s.key(), u)
}

// scaleOperator sets the number of the operator's pods and waits until they are ready and the others gone.
func scaleOperator(t *testing.T, replicas int32) {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, d); err != nil {
		t.Fatal(err)
	}
	before := d.DeepCopy()
	d.Spec.Replicas = new(replicas)
	if err := kube.Patch(t.Context(), d, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	fixture.Eventually(t, soon*2, "the operator is scaled", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.Replicas != replicas || d.Status.ReadyReplicas != replicas || d.Status.UpdatedReplicas != replicas ||
			ptr.Deref(d.Status.TerminatingReplicas, 0) != 0 {
			return errors.New(asJSON(t, d.Status))
		}
		return nil
	})
}

// Proves: US-7.3, FR-081, L-27 (through the webhook's Service; a rollout of the operator with two replicas loses no request).
func bothVersionsAreServed(t *testing.T) {
	s := sampleStack(t)
	u, err := s.asV1alpha1(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if name, _, _ := unstructured.NestedString(u.Object, "spec", "server", "distribution", "name"); name != "starter" {
		t.Errorf("in v1alpha1 the distribution is %q", name)
	}
	did(t, "the sample is read as v1alpha1")

	scaleOperator(t, 2)
	did(t, "the operator has two replicas")
	load := fixture.StartLoad(t, func(ctx context.Context) error {
		_, err := s.asV1alpha1(ctx)
		return err
	})
	for _, args := range [][]string{{"restart"}, {"status", "--timeout=120s"}} {
		if _, err := cluster.KubectlRun(t.Context(), append([]string{"-n", operatorNamespace, "rollout", args[0], "deployment/" + operatorName}, args[1:]...)...); err != nil {
			t.Fatal(err)
		}
	}
	scaleOperator(t, 1)
	n := load.Check(t, "conversions while all replicas were replaced")
	did(t, "all replicas were replaced and one went away; of %d conversions, 50 a second, none failed", n)
}

// Proves: US-7.1, US-7.2, FR-080 (a manifest of release 0.9 becomes a server, and looks as it did there).
func writtenAsV1alpha1(t *testing.T) {
	s := stack{"e2e-v1alpha1", "old"}
	namespace(t, s.namespace)
	s.kubectl(t, "apply", "-f", fixture.Root()+"/tests/e2e/testdata/light-v1alpha1.yaml")
	cr := s.waitReady(t)
	did(t, "a manifest of v1alpha1 is Ready")
	if status, _ := call(t, http.MethodGet, "http://"+s.pod(t).Status.PodIP+":9321/v1/health", nil); status != http.StatusOK {
		t.Errorf("port 9321 of the pod answers %d", status)
	}
	u, err := s.asV1alpha1(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != string(cr.Status.Phase) || phase == "" {
		t.Errorf("its phase is %q in v1alpha1 and %q in v1alpha2", phase, cr.Status.Phase)
	}
	out := s.kubectl(t, "get", "llamastackdistributions.v1alpha1.llamastack.io")
	if !strings.Contains(out, "SERVER VERSION") || !strings.Contains(out, cr.Status.Version.LlamaStackServerVersion) {
		t.Errorf("columns of v1alpha1:\n%s", out)
	}
	if out := s.kubectl(t, "apply", "-f", fixture.Root()+"/tests/e2e/testdata/light-v1alpha1.yaml"); !strings.Contains(out, "unchanged") {
		t.Errorf("applied again: %s", out)
	}
	did(t, "it serves on its port, shows the columns and the status of v1alpha1, and applying it again changes nothing")
	s.kubectl(t, "delete", "llamastackdistributions.v1alpha1.llamastack.io", s.name)
}

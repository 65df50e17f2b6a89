// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// Proves: R52, L-33 (conditions that programs of release 0.9 read are kept, from observed state).
func TestLegacyConditions(t *testing.T) {
	claim := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
		c.Name = "my-stack-pvc"
		return c
	}
	stuck := deployment(1, 0)
	stuck.Status.Conditions[1] = appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded", Message: "m"}
	for name, c := range map[string]struct {
		change func(*status.Facts)
		want   [4]string
	}{
		"serving": {func(f *status.Facts) { f.ServiceExists = true },
			[4]string{"True DeploymentReady", "True HealthCheckPassed", "", "True ServiceReady"}},
		"with a claim": {func(f *status.Facts) {
			f.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{}}
			f.PVC = claim(corev1.ClaimBound)
		}, [4]string{"True DeploymentReady", "True HealthCheckPassed", "True StorageReady", "False ServicePending"}},
		"a claim that waits": {func(f *status.Facts) {
			f.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Storage: &v1alpha2.PVCStorageSpec{}}
			f.PVC, f.Deployment = claim(corev1.ClaimPending), deployment(1, 0)
		}, [4]string{"False DeploymentPending", "False DeploymentPending", "False StoragePending", "False ServicePending"}},
		"nothing yet": {func(f *status.Facts) { f.Deployment = nil },
			[4]string{"False DeploymentPending", "False DeploymentPending", "", "False ServicePending"}},
		"stuck": {func(f *status.Facts) { f.Deployment = stuck },
			[4]string{"False DeploymentFailed", "False HealthCheckFailed", "", "False ServicePending"}},
		"stuck, and no pod is desired": {func(f *status.Facts) {
			f.Deployment = stuck.DeepCopy()
			f.Deployment.Spec.Replicas = new(int32(0))
		}, [4]string{"False DeploymentFailed", "False DeploymentPending", "", "False ServicePending"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := serving(t, resource())
			c.change(f)
			s := compute(t, f)
			var got [4]string
			for i, kind := range v1alpha2.LegacyConditions() {
				if found := meta.FindStatusCondition(s.Conditions, kind); found != nil {
					got[i] = string(found.Status) + " " + found.Reason
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: FR-064, FR-065, R50, R62 (the URL is absent, pending or admitted; Ready has the reason of a pending one).
func TestRouteURL(t *testing.T) {
	for name, c := range map[string]struct {
		expose   string
		exposure objects.Exposure
		want     *string
		ready    string
	}{
		"not exposed": {`false`, objects.Exposure{}, nil, "The spec is applied"},
		"not admitted": {
			`{"hostname":"a.example"}`, objects.Exposure{Pending: "Ingress a-ingress has no address"}, new(""),
			"The spec is applied; the server is not exposed yet: Ingress a-ingress has no address",
		},
		"admitted": {`{}`, objects.Exposure{URL: "https://10.0.0.1"}, new("https://10.0.0.1"), "The spec is applied"},
	} {
		t.Run(name, func(t *testing.T) {
			f := serving(t, resource())
			f.Desired.Expose = parse.Parse(&v1alpha2.LlamaStackDistributionSpec{Networking: &v1alpha2.NetworkingSpec{Expose: open(c.expose)}}).Expose
			f.Exposure = c.exposure
			s := compute(t, f)
			if diff := cmp.Diff(c.want, s.RouteURL); diff != "" {
				t.Errorf("URL (-want +got):\n%s", diff)
			}
			if ready := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionReady); ready.Message != c.ready {
				t.Errorf("Ready: %s", ready.Message)
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package release09_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Proves: R18 (conditions of release 0.9 follow the observed state, and each reason is documented).
func TestConditionsReportObservations(t *testing.T) {
	pvc := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: "my-server-pvc"}, Status: corev1.PersistentVolumeClaimStatus{Phase: phase},
		}
	}
	const (
		deployment, health  = v1alpha2.ConditionDeploymentReady, v1alpha2.ConditionHealthCheck
		storage, service    = v1alpha2.ConditionStorageReady, v1alpha2.ConditionServiceReady
		pending, noneServes = "False: DeploymentPending: ", "False: DeploymentPending: No server responds yet"
		passes              = "True: HealthCheckPassed: The health check of the server passes"
	)
	for name, c := range map[string]struct {
		observed release09.Observed
		want     map[string]string
	}{
		"nothing yet": {
			release09.Observed{NotApplied: true, Reason: "Secret token does not exist"},
			map[string]string{deployment: pending + "Secret token does not exist", health: noneServes, service: "False: ServicePending: The Service does not exist yet"},
		},
		"the Deployment could not be read": {release09.Observed{Unknown: true, Complete: true, Available: true}, map[string]string{deployment: "", health: ""}},
		"a rollout": {
			release09.Observed{Rollout: "1 of 2 pods are up to date", Started: true},
			map[string]string{deployment: pending + "1 of 2 pods are up to date", health: noneServes},
		},
		"a rollout, and a pod serves": {
			release09.Observed{Rollout: "1 of 2", Started: true, Available: true}, map[string]string{deployment: pending + "1 of 2", health: passes},
		},
		"a failed rollout": {
			release09.Observed{Failed: true, Rollout: "timed out", Started: true},
			map[string]string{deployment: "False: DeploymentFailed: timed out", health: "False: HealthCheckFailed: No server passes the health check"},
		},
		"a failed rollout, and an old pod serves": {
			release09.Observed{Failed: true, Rollout: "timed out", Started: true, Available: true},
			map[string]string{deployment: "False: DeploymentFailed: timed out", health: passes},
		},
		"a failed rollout of no pods": {release09.Observed{Failed: true, Rollout: "quota"}, map[string]string{health: noneServes}},
		"complete": {
			release09.Observed{Complete: true, Rollout: "All pods are up to date", Available: true, Started: true, Service: true},
			map[string]string{
				deployment: "True: DeploymentReady: All pods are up to date", health: passes,
				service: "True: ServiceReady: The Service my-server-service exists",
			},
		},
		"no storage":          {release09.Observed{PVC: pvc(corev1.ClaimBound)}, map[string]string{storage: ""}},
		"no PVC yet":          {release09.Observed{WantsPVC: true}, map[string]string{storage: "False: StoragePending: The PVC my-server-pvc is not bound yet"}},
		"the PVC is bound":    {release09.Observed{WantsPVC: true, PVC: pvc(corev1.ClaimBound)}, map[string]string{storage: "True: StorageReady: The PVC my-server-pvc is bound"}},
		"the PVC has no disk": {release09.Observed{WantsPVC: true, PVC: pvc(corev1.ClaimPending)}, map[string]string{storage: "False: StoragePending: The PVC my-server-pvc is not bound yet"}},
	} {
		c.observed.Resource = "my-server"
		list, absent := release09.Conditions(&c.observed)
		got := map[string]string{}
		for _, condition := range list {
			got[condition.Type] = string(condition.Status) + ": " + condition.Reason + ": " + condition.Message
			documented := func(r release09.Reason) bool {
				return r.Condition == condition.Type && r.Status == condition.Status && r.Reason == condition.Reason
			}
			if !slices.ContainsFunc(release09.Reasons(), documented) && got[condition.Type] != noneServes {
				t.Errorf("%s: no documented reason: %s %s", name, condition.Type, got[condition.Type])
			}
		}
		for kind, want := range c.want {
			if got[kind] != want {
				t.Errorf("%s: %s is %q, want %q", name, kind, got[kind], want)
			}
		}
		if slices.Contains(absent, storage) == c.observed.WantsPVC {
			t.Errorf("%s: these conditions do not apply: %q", name, absent)
		}
	}
}

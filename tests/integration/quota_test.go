// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// Proves: L-22 (the status has the reason why the API server creates no pod, although it rejected no object of the
// operator).
func TestStatusReportsExceededQuota(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: "no-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	framework.NoError(t, suite.Admin.Create(t.Context(), quota))
	e.Eventually("the quota is enforced", func() error {
		if err := e.Get(quota, quota.Name); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return errors.New("it has no status")
		}
		return nil
	})
	e.StartOperator()
	e.Apply(framework.Manifest("s", "distribution: {name: starter}"))
	for _, kind := range []string{v1alpha2.ConditionAvailable, v1alpha2.ConditionDeploymentUpdated, v1alpha2.ConditionReady} {
		e.WaitCondition("s", kind, metav1.ConditionFalse, "", "no pod can be created: exceeded quota: no-pods")
	}
}

// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// scale sets the number of pods by an object's scale subresource, as an autoscaler does.
func (e *env) scale(o client.Object, replicas int32) {
	e.T.Helper()
	o.SetNamespace(e.Name)
	e.Eventually("the scale subresource is written", func() error {
		scale := &autoscalingv1.Scale{}
		if err := suite.Admin.SubResource("scale").Get(e.T.Context(), o, scale); err != nil {
			return err
		}
		scale.Spec.Replicas = replicas
		return suite.Admin.SubResource("scale").Update(e.T.Context(), o, client.WithSubResourceBody(scale))
	})
}

// hasReplicas waits until the Deployment desires and has the number of pods, and the resource's status reports it.
func (e *env) hasReplicas(name string, want int32) {
	e.T.Helper()
	e.Eventually(fmt.Sprintf("%s has %d pods", name, want), func() error {
		d, cr := e.Deployment(name), e.CR(name)
		if *d.Spec.Replicas != want || d.Status.Replicas != want || cr.Status.Replicas != want || cr.Status.ObservedGeneration != cr.Generation {
			return fmt.Errorf("the Deployment asks for %d and has %d, the status reports %d", *d.Spec.Replicas, d.Status.Replicas, cr.Status.Replicas)
		}
		return nil
	})
}

// Proves: R51, R43, L-22 (the replicas set by an autoscaler survive edits of the spec; an autoscaler paused by zero
// replicas stays paused, and the status reports how to continue).
func TestAutoscalerKeepsItsReplicasThroughEdits(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("scaled", "distribution: {name: starter}\nworkload: {autoscaling: {minReplicas: 1, maxReplicas: 4}}"))
	e.WaitReady("scaled")
	e.scale(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}}, 3)
	e.hasReplicas("scaled", 3)

	for _, spec := range []string{
		`{"workload":{"resources":{"requests":{"cpu":"100m"}}}}`, `{"workload":{"autoscaling":{"maxReplicas":5}}}`,
		`{"workload":{"replicas":2}}`, `{"networking":{"port":8322}}`,
	} {
		e.PatchSpec("scaled", spec)
		e.WaitReady("scaled")
		if n := *e.Deployment("scaled").Spec.Replicas; n != 3 {
			t.Errorf("after %s the Deployment asks for %d pods", spec, n)
		}
	}

	e.scale(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}}, 0)
	message := e.WaitCondition("scaled", v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonAutoscalingPaused)
	if !strings.Contains(message, "HorizontalPodAutoscaler scaled-hpa") || !strings.Contains(message, "scale deployment scaled --replicas=1") {
		t.Errorf("Ready: %s", message)
	}
	e.PatchSpec("scaled", `{"networking":{"port":8323}}`)
	e.WaitCondition("scaled", v1alpha2.ConditionReady, metav1.ConditionFalse, v1alpha2.ReasonAutoscalingPaused)
	e.hasReplicas("scaled", 0)

	e.scale(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "scaled"}}, 1)
	e.WaitReady("scaled")
}

// Proves: R42 (metrics and behavior reach the HorizontalPodAutoscaler as written; what the API server refuses is
// reported at its field, and changes nothing).
func TestAutoscalerHasMetricsAndBehavior(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("measured", `distribution: {name: starter}
workload:
  autoscaling:
    maxReplicas: 4
    metrics: [{type: Pods, pods: {metric: {name: requests}, target: {type: AverageValue, averageValue: "10"}}}]
    behavior: {scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Pods, value: 1, periodSeconds: 60}]}}`))
	e.WaitReady("measured")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	framework.NoError(t, e.Get(hpa, "measured-hpa"))
	if m := hpa.Spec.Metrics; len(m) != 1 || m[0].Pods == nil || m[0].Pods.Target.AverageValue.String() != "10" {
		t.Errorf("metrics %+v", m)
	}
	if b := hpa.Spec.Behavior; b == nil || *b.ScaleDown.StabilizationWindowSeconds != 60 || b.ScaleDown.Policies[0].Value != 1 {
		t.Errorf("behavior %+v", b)
	}
	for patch, want := range map[string]string{
		`[{"type":"Pods"}]`: "spec.workload.autoscaling.metrics[0].pods",
		`[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilisation":5}}}]`: "spec.workload.autoscaling.metrics[0].resource.target.averageUtilisation",
	} {
		e.PatchSpec("measured", `{"workload":{"autoscaling":{"metrics":`+patch+`}}}`)
		e.WaitCondition("measured", v1alpha2.ConditionReady, metav1.ConditionFalse, "", want)
	}
	framework.NoError(t, e.Get(hpa, "measured-hpa"))
	if m := hpa.Spec.Metrics; len(m) != 1 || m[0].Pods == nil {
		t.Errorf("after refused edits, metrics %+v", m)
	}
}

// KEDA reads the number of pods and their selector from the resource's scale subresource, and writes the number there.
//
// Proves: R50, R51, L-17.
func TestScaleSubresourceScalesToZeroAndBack(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	e.Apply(framework.Manifest("asked", "distribution: {name: starter}\nworkload: {}"))
	e.WaitReady("asked")
	cr := func() *v1alpha2.LlamaStackDistribution {
		return &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Name: "asked", Namespace: e.Name}}
	}
	for _, want := range []int32{2, 0, 3} {
		e.scale(cr(), want)
		e.hasReplicas("asked", want)
		scale := &autoscalingv1.Scale{}
		framework.NoError(t, suite.Admin.SubResource("scale").Get(t.Context(), cr(), scale))
		if scale.Spec.Replicas != want || scale.Status.Replicas != want || scale.Status.Selector != "app=llama-stack,app.kubernetes.io/instance=asked" {
			t.Errorf("after %d: %+v %+v", want, scale.Spec, scale.Status)
		}
		if want == 0 {
			e.WaitCondition("asked", v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonScaledToZero)
			continue
		}
		e.WaitReady("asked")
	}
}

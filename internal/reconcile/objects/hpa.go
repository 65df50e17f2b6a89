// SPDX-License-Identifier: Apache-2.0

package objects

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
)

// defaultCPUTarget is the default target of the average CPU utilization, in percent of the requests.
const defaultCPUTarget = 80

// Autoscaling returns the spec's autoscaler, or nil if it is empty.
func Autoscaling(spec *v1alpha2.LlamaStackDistributionSpec) *v1alpha2.AutoscalingSpec {
	if spec.Workload == nil || spec.Workload.Autoscaling == nil ||
		equality.Semantic.DeepEqual(spec.Workload.Autoscaling, &v1alpha2.AutoscalingSpec{}) {
		return nil
	}
	return spec.Workload.Autoscaling
}

// CustomMetrics returns the metrics and the behavior in the spec, with the problems of those that autoscaling/v2 does
// not have or Kubernetes would reject.
func CustomMetrics(a *v1alpha2.AutoscalingSpec) (metrics []autoscalingv2.MetricSpec,
	behavior *autoscalingv2.HorizontalPodAutoscalerBehavior, problems problem.List) {
	at := field.NewPath("spec", "workload", "autoscaling")
	for i := range a.Metrics {
		metric, found := validation.Decode[autoscalingv2.MetricSpec](a.Metrics[i].Raw, at.Child("metrics").Index(i))
		metrics, problems = append(metrics, metric), append(problems, found...)
	}
	if a.Behavior != nil {
		var found problem.List
		behavior, found = validation.Decode[*autoscalingv2.HorizontalPodAutoscalerBehavior](a.Behavior.Raw,
			at.Child("behavior"))
		problems = append(problems, found...)
	}
	if len(problems) == 0 {
		problems = validation.CheckAutoscaling(metrics, behavior, at)
	}
	return metrics, behavior, problems
}

// PodRange returns the smallest and largest desired number of pods.
func PodRange(spec *v1alpha2.LlamaStackDistributionSpec) (minPods, maxPods int32) {
	a := Autoscaling(spec)
	if a == nil {
		n := Replicas(spec)
		return n, n
	}
	minPods = max(1, ptr.Deref(a.MinReplicas, 0))
	if spec.Workload.Replicas != nil {
		minPods = max(minPods, *spec.Workload.Replicas)
	}
	return minPods, ptr.Deref(a.MaxReplicas, 0)
}

// appliedReplicas returns the Deployment's replicas, or nil if an autoscaler controls them.
func appliedReplicas(p *Params) *int32 {
	if Autoscaling(&p.CR.Spec) != nil {
		return nil
	}
	return new(Replicas(&p.CR.Spec))
}

// HorizontalPodAutoscaler returns the autoscaler, or nil if it is not desired.
func HorizontalPodAutoscaler(p *Params) *autoscalingv2.HorizontalPodAutoscaler {
	a := Autoscaling(&p.CR.Spec)
	if a == nil {
		return nil
	}
	cpu := a.TargetCPUUtilizationPercentage
	metrics, behavior, _ := CustomMetrics(a)
	if cpu == nil && a.TargetMemoryUtilizationPercentage == nil && len(metrics) == 0 {
		cpu = ptr.To[int32](defaultCPUTarget)
	}
	for _, target := range []struct {
		name    corev1.ResourceName
		percent *int32
	}{{corev1.ResourceCPU, cpu}, {corev1.ResourceMemory, a.TargetMemoryUtilizationPercentage}} {
		if target.percent == nil {
			continue
		}
		metrics = append(metrics, autoscalingv2.MetricSpec{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name: target.name, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
					AverageUtilization: target.percent},
			},
		})
	}
	minPods, maxPods := PodRange(&p.CR.Spec)
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: objectMeta(p.CR, names.AutoscalerName(p.CR.Name)),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: names.DeploymentName(p.CR.Name),
			},
			MinReplicas: &minPods,
			MaxReplicas: maxPods,
			Metrics:     metrics,
			Behavior:    behavior,
		},
	}
}

// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/validation"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R44 (what Kubernetes would reject is reported before it is stored).
func TestAutoscalingIsCheckedAsKubernetesDoes(t *testing.T) {
	for text, want := range map[string]string{
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]":                                                          "",
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: 500m}}}]":                                                             "",
		"metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: 10}}}]":                                                         "",
		"metrics: [{type: External, external: {metric: {name: waiting}, target: {type: Value, value: 10}}}]":                                                               "",
		"metrics: [{type: Object, object: {metric: {name: a}, describedObject: {kind: Service, name: b}, target: {type: Value, value: 10}}}]":                              "",
		"metrics: [{type: ContainerResource, containerResource: {name: cpu, container: llama-stack, target: {type: Utilization, averageUtilization: 1}}}]":                 "",
		"behavior: {scaleDown: {stabilizationWindowSeconds: 3600, selectPolicy: Min, policies: [{type: Pods, value: 1, periodSeconds: 1800}]}, scaleUp: {tolerance: 0.1}}": "",

		"metrics: [{type: Object, object: {metric: {name: a}, describedObject: {kind: Service, name: b}, target: {type: Value, value: 10, averageValue: 1}}}]": "",
		"behavior: {scaleUp: {policies: []}}":                                                                    "behavior.scaleUp.policies: Required value",
		"metrics: [{}]":                                                                                          "metrics[0].type: Unsupported value",
		"metrics: [{type: Resource}]":                                                                            "metrics[0].resource: Required value",
		"metrics: [{type: Pods, resource: {name: cpu}}]":                                                         "metrics[0].resource: Forbidden: belongs to a metric of type Resource",
		"metrics: [{type: Resource, resource: {target: {}}}]":                                                    "metrics[0].resource.name: Required value",
		"metrics: [{type: Resource, resource: {name: cpu}}]":                                                     "metrics[0].resource.target.type: Unsupported value",
		"metrics: [{type: Pods, pods: {target: {type: Value}}}]":                                                 "metrics[0].pods.target.averageValue: Required value",
		"metrics: [{type: Pods, pods: {target: {value: 1}}}]":                                                    "metrics[0].pods.target.averageValue: Required value",
		"metrics: [{type: External, external: {target: {value: 0}}}]":                                            "metrics[0].external.target.value: Invalid value",
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization}}}]":                        "metrics[0].resource.target.averageUtilization: Required value: set the value to aim at, or averageValue",
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 0}}}]": "averageUtilization: Invalid value: 0",
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 1, averageValue: 1}}}]":  "averageValue: Forbidden: and averageUtilization exclude each other",
		"metrics: [{type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: -1}}}]":                       "averageValue: Invalid value: \"-1\"",
		"metrics: [{type: ContainerResource, containerResource: {name: cpu, target: {type: Utilization, averageUtilization: 1}}}]": "containerResource.container: Required value",
		"behavior: {scaleDown: {stabilizationWindowSeconds: -1}}":                                                                  "behavior.scaleDown.stabilizationWindowSeconds: Invalid value: -1: must be from 0 to 3600",
		"behavior: {scaleUp: {stabilizationWindowSeconds: 3601}}":                                                                  "behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601",
		"behavior: {scaleUp: {selectPolicy: Most}}":                                                                                "selectPolicy: Unsupported value",
		"behavior: {scaleUp: {tolerance: -1}}":                                                                                     "tolerance: Invalid value",
		"behavior: {scaleUp: {policies: [{type: Pod, value: 1, periodSeconds: 1}]}}":                                               "policies[0].type: Unsupported value",
		"behavior: {scaleUp: {policies: [{type: Pods, periodSeconds: 1}]}}":                                                        "policies[0].value: Invalid value: 0",
		"behavior: {scaleUp: {policies: [{type: Pods, value: 1}]}}":                                                                "policies[0].periodSeconds: Invalid value: 0",
	} {
		var spec struct {
			Metrics  []autoscalingv2.MetricSpec
			Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior
		}
		framework.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec))
		var got []string
		for _, p := range validation.CheckAutoscaling(spec.Metrics, spec.Behavior, field.NewPath("at")) {
			got = append(got, p.String())
		}
		if all := strings.Join(got, "\n"); want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s:\n%s\nwant %s", text, all, want)
		}
	}
}

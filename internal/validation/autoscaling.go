// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

const (
	// maxStabilization and maxPeriod are the largest values of Kubernetes, in seconds.
	maxStabilization = 3600
	maxPeriod        = 1800
)

// CheckAutoscaling returns the values of an autoscaler that Kubernetes would reject.
func CheckAutoscaling(metrics []autoscalingv2.MetricSpec, behavior *autoscalingv2.HorizontalPodAutoscalerBehavior,
	at *field.Path) problem.List {
	c := &check{}
	for i := range metrics {
		c.metric(&metrics[i], at.Child("metrics").Index(i))
	}
	if behavior != nil {
		c.scalingRules(behavior.ScaleUp, at.Child("behavior", "scaleUp"))
		c.scalingRules(behavior.ScaleDown, at.Child("behavior", "scaleDown"))
	}
	return c.problems.List()
}

// metricSource is the part of a metric that belongs to its type.
type metricSource struct {
	kind  autoscalingv2.MetricSourceType
	field string
	// names are the required names, with their fields.
	names  [][2]string
	target *autoscalingv2.MetricTarget
	// targets are the fields of the target, of which one is required.
	targets []string
}

// sourcesOf returns the given sources of a metric.
func sourcesOf(m *autoscalingv2.MetricSpec) (given []metricSource) {
	const averageUtilization, averageValue, value = "averageUtilization", "averageValue", "value"
	if s := m.Resource; s != nil {
		given = append(given, metricSource{autoscalingv2.ResourceMetricSourceType, "resource",
			[][2]string{{"name", string(s.Name)}}, &s.Target, []string{averageUtilization, averageValue}})
	}
	if s := m.ContainerResource; s != nil {
		given = append(given, metricSource{autoscalingv2.ContainerResourceMetricSourceType, "containerResource",
			[][2]string{{"name", string(s.Name)}, {"container", s.Container}}, &s.Target,
			[]string{averageUtilization, averageValue}})
	}
	if s := m.Pods; s != nil {
		given = append(given, metricSource{autoscalingv2.PodsMetricSourceType, "pods",
			[][2]string{{"metric.name", s.Metric.Name}}, &s.Target, []string{averageValue}})
	}
	if s := m.Object; s != nil {
		given = append(given, metricSource{autoscalingv2.ObjectMetricSourceType, "object",
			[][2]string{{"metric.name", s.Metric.Name}, {"describedObject.kind", s.DescribedObject.Kind},
				{"describedObject.name", s.DescribedObject.Name}}, &s.Target, []string{value, averageValue}})
	}
	if s := m.External; s != nil {
		given = append(given, metricSource{autoscalingv2.ExternalMetricSourceType, "external",
			[][2]string{{"metric.name", s.Metric.Name}}, &s.Target, []string{value, averageValue}})
	}
	return given
}

// metricFields are the types of metrics with their fields.
var metricFields = map[autoscalingv2.MetricSourceType]string{
	autoscalingv2.ResourceMetricSourceType:          "resource",
	autoscalingv2.ContainerResourceMetricSourceType: "containerResource",
	autoscalingv2.PodsMetricSourceType:              "pods",
	autoscalingv2.ObjectMetricSourceType:            "object",
	autoscalingv2.ExternalMetricSourceType:          "external",
}

func (c *check) metric(m *autoscalingv2.MetricSpec, at *field.Path) {
	own, known := metricFields[m.Type]
	if !known {
		c.add(at.Child("type"), field.ErrorTypeNotSupported, limits.Message(string(m.Type)), "",
			"use Resource, ContainerResource, Pods, Object or External")
		return
	}
	given := sourcesOf(m)
	if !slices.ContainsFunc(given, func(s metricSource) bool { return s.kind == m.Type }) {
		c.missing(at.Child(own), "describe the metric of type "+string(m.Type))
	}
	for i := range given {
		s := &given[i]
		if s.kind != m.Type {
			c.add(at.Child(s.field), field.ErrorTypeForbidden, nil, "belongs to a metric of type "+string(s.kind),
				"remove it, or change the type")
			continue
		}
		for _, name := range s.names {
			if name[1] == "" {
				c.missing(at.Child(s.field).Child(name[0]), "set it")
			}
		}
		c.metricTarget(s, at.Child(s.field, "target"))
	}
}

func (c *check) metricTarget(s *metricSource, at *field.Path) {
	if kinds := []autoscalingv2.MetricTargetType{
		autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType,
	}; !slices.Contains(kinds, s.target.Type) {
		c.add(at.Child("type"), field.ErrorTypeNotSupported, limits.Message(string(s.target.Type)), "",
			"use Utilization, Value or AverageValue")
	}
	var set []string
	if v := s.target.AverageUtilization; v != nil {
		set = append(set, "averageUtilization")
		if *v < 1 {
			c.invalid(at.Child("averageUtilization"), *v, "must be a percentage of the requests, at least 1", "")
		}
	}
	if v := s.target.AverageValue; v != nil {
		set = append(set, "averageValue")
		if v.Sign() < 1 {
			c.invalid(at.Child("averageValue"), v.String(), "must be positive", "")
		}
	}
	if v := s.target.Value; v != nil {
		set = append(set, "value")
		if v.Sign() < 1 {
			c.invalid(at.Child("value"), v.String(), "must be positive", "")
		}
	}
	set = slices.DeleteFunc(set, func(name string) bool { return !slices.Contains(s.targets, name) })
	switch {
	case len(set) == 0:
		fix := "set the value to aim at"
		if len(s.targets) > 1 {
			fix += ", or " + s.targets[1]
		}
		c.missing(at.Child(s.targets[0]), fix)
	case len(set) > 1 && s.kind != autoscalingv2.ObjectMetricSourceType:
		c.add(at.Child(set[1]), field.ErrorTypeForbidden, nil, "and "+set[0]+" exclude each other", "keep one of them")
	}
}

func (c *check) scalingRules(rules *autoscalingv2.HPAScalingRules, at *field.Path) {
	if rules == nil {
		return
	}
	if w := rules.StabilizationWindowSeconds; w != nil && (*w < 0 || *w > maxStabilization) {
		c.invalid(at.Child("stabilizationWindowSeconds"), *w, fmt.Sprintf("must be from 0 to %d", maxStabilization), "")
	}
	if p := rules.SelectPolicy; p != nil && !slices.Contains([]autoscalingv2.ScalingPolicySelect{
		autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect, autoscalingv2.DisabledPolicySelect}, *p) {
		c.add(at.Child("selectPolicy"), field.ErrorTypeNotSupported, limits.Message(string(*p)), "",
			"use Max, Min or Disabled")
	}
	if t := rules.Tolerance; t != nil && t.Sign() < 0 {
		c.invalid(at.Child("tolerance"), t.String(), "must not be negative", "")
	}
	if rules.Policies != nil && len(rules.Policies) == 0 {
		c.missing(at.Child("policies"), "add one, or remove the field for the defaults")
	}
	for i := range rules.Policies {
		policy, at := &rules.Policies[i], at.Child("policies").Index(i)
		if policy.Type != autoscalingv2.PodsScalingPolicy && policy.Type != autoscalingv2.PercentScalingPolicy {
			c.add(at.Child("type"), field.ErrorTypeNotSupported, limits.Message(string(policy.Type)), "",
				"use Pods or Percent")
		}
		if policy.Value < 1 {
			c.invalid(at.Child("value"), policy.Value, "must be at least 1", "")
		}
		if policy.PeriodSeconds < 1 || policy.PeriodSeconds > maxPeriod {
			c.invalid(at.Child("periodSeconds"), policy.PeriodSeconds, fmt.Sprintf("must be from 1 to %d", maxPeriod), "")
		}
	}
}

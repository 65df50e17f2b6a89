// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed rules.yaml
var rules []byte

// Alert is an alert of the PrometheusRule.
type Alert struct {
	// Name is the name of the alert.
	Name string `json:"alert"`
	// Expression is when it is pending, in PromQL, and For how long it must be so until it fires, as Prometheus writes
	// durations.
	Expression string `json:"expr"`
	For        string `json:"for"`
	Labels     struct {
		// Severity is critical or warning.
		Severity string `json:"severity"`
	} `json:"labels"`
	Annotations struct {
		// Summary is the title, Description what it means for users, and Action what to do.
		Summary     string `json:"summary"`
		Description string `json:"description"`
		Action      string `json:"action"`
		// Runbook is the address of its section in docs/alerts.md.
		Runbook string `json:"runbook_url"`
	} `json:"annotations"`
}

// Rules returns the PrometheusRule as YAML. It must not be changed.
func Rules() []byte { return rules }

// Alerts returns the alerts of the PrometheusRule.
func Alerts() ([]Alert, error) {
	var rule struct {
		Spec struct {
			Groups []struct {
				Rules []Alert `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(rules, &rule); err != nil {
		return nil, fmt.Errorf("the PrometheusRule: %w", err)
	}
	var all []Alert
	for _, group := range rule.Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

// placeholders are what Prometheus replaces in annotations.
var placeholders = strings.NewReplacer("{{ $value }}", "N", "{{ $labels.release_line }}", "R", "{{ $labels.reason }}",
	"REASON", "{{ $labels.namespace }}", "NAMESPACE", "{{ $labels.name }}", "NAME",
	"{{ $value | humanizePercentage }}", "N %")

// InWords returns an annotation with words in place of what Prometheus replaces.
func InWords(annotation string) string { return placeholders.Replace(annotation) }

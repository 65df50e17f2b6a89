// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

// Reason documents a reason of a condition.
type Reason struct {
	// Name is the reason, Conditions are the conditions that have it.
	Name       string   `json:"name"`
	Conditions []string `json:"conditions"`
	// State is the class of the problem, or the condition's status.
	State   string `json:"state"`
	Meaning string `json:"meaning"`
	Example string `json:"example"`
	// Remedy is the fix; empty if none is needed.
	Remedy string `json:"remedy,omitempty"`
}

// Reasons returns all reasons, those of problems first.
func Reasons() []*Reason {
	var all []*Reason
	for _, row := range problem.Rows() {
		state := "error of the class " + string(row.Class)
		if row.Example.Severity == problem.Warning {
			state = "warning"
		}
		all = append(all, &Reason{
			Name: string(row.Reason), Conditions: row.Conditions, State: state, Meaning: row.Meaning,
			Example: problem.New(row.Example).String(), Remedy: row.Remedy,
		})
	}
	for _, r := range status.Reasons() {
		all = append(all, &Reason{
			Name: r.Reason, Conditions: []string{r.Condition}, State: "status " + string(r.Status), Meaning: r.Meaning,
			Example: r.Example, Remedy: r.Remedy,
		})
	}
	return all
}

// Remedy returns the fix for a reason; empty if none is known or needed.
func Remedy(reason string) string {
	for _, r := range Reasons() {
		if r.Name == reason && r.Remedy != "" {
			return r.Remedy
		}
	}
	return ""
}

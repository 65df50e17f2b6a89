// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

// Reason is what is known of the reason of a condition.
type Reason struct {
	// Name is the reason, and Conditions are the conditions that report it.
	Name       string   `json:"name"`
	Conditions []string `json:"conditions"`
	// State is the class of a problem, else the condition's status with this reason.
	State   string `json:"state"`
	Meaning string `json:"meaning"`
	Example string `json:"example"`
	// Remedy says what to do; empty where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// Reasons returns all reasons of conditions, those of problems first.
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

// Remedy says what to do where a condition has a reason; empty where there is nothing to do, or nobody knows the
// reason.
func Remedy(reason string) string {
	for _, r := range Reasons() {
		if r.Name == reason && r.Remedy != "" {
			return r.Remedy
		}
	}
	return ""
}

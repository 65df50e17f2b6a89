// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/status"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// reason is what is known of the reason of a condition.
type reason struct {
	Name       string   `json:"name"`
	Conditions []string `json:"conditions"`
	// State is the class of a problem, else the condition's status with this reason.
	State   string `json:"state"`
	Meaning string `json:"meaning"`
	Example string `json:"example"`
	// Remedy says what to do; empty where there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

// reasons returns all reasons, those of problems first.
func reasons() []*reason {
	var all []*reason
	for _, row := range problem.Rows() {
		state := string(row.Class) + " error"
		if row.Example.Severity == problem.Warning {
			state = "warning"
		}
		all = append(all, &reason{
			Name: string(row.Reason), Conditions: row.Conditions, State: state, Meaning: row.Meaning, Example: problem.New(row.Example).String(), Remedy: row.Remedy,
		})
	}
	for _, r := range status.Reasons() {
		all = append(all, &reason{
			Name: r.Reason, Conditions: []string{r.Condition}, State: "status " + string(r.Status), Meaning: r.Meaning, Example: r.Example, Remedy: r.Remedy,
		})
	}
	return all
}

// findReasons returns what a name means as a reason: one of release 0.9 can mean several things.
func findReasons(name string) []*reason {
	var found []*reason
	for _, r := range reasons() {
		if strings.EqualFold(r.Name, name) {
			found = append(found, r)
		}
	}
	return found
}

func reasonNames() []string {
	var list []string
	for _, r := range reasons() {
		list = append(list, r.Name)
	}
	return list
}

// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
)

type reason = describe.Reason

// findReasons returns the reasons with a name; those of release 0.9 may have several meanings.
func findReasons(name string) []*reason {
	var found []*reason
	for _, r := range describe.Reasons() {
		if strings.EqualFold(r.Name, name) {
			found = append(found, r)
		}
	}
	return found
}

func conditionNames() []string {
	var list []string
	for _, c := range describe.Conditions() {
		list = append(list, c.Name)
	}
	return list
}

func reasonNames() []string {
	var list []string
	for _, r := range describe.Reasons() {
		list = append(list, r.Name)
	}
	return list
}

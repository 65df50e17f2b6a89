// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Condition documents a condition.
type Condition struct {
	// Name is the type and Meaning the meaning, in Markdown.
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	// Reasons are the possible reasons, sorted.
	Reasons []string `json:"reasons,omitempty"`
}

// Conditions returns all conditions in display order.
func Conditions() []Condition {
	list := []Condition{
		{Name: v1alpha2.ConditionReady, Meaning: "Summarizes the other conditions: it has the reason and the message of " +
			"the first one that is not True."},
		{Name: v1alpha2.ConditionConfigGenerated, Meaning: "Reports whether the spec can become a configuration and " +
			"objects."},
		{Name: v1alpha2.ConditionSecretsResolved, Meaning: "Reports whether the Secrets that the spec refers to can be " +
			"used."},
		{Name: v1alpha2.ConditionDeploymentUpdated, Meaning: "Reports whether the Deployment and its pods are those of the " +
			"spec."},
		{Name: v1alpha2.ConditionAvailable, Meaning: "Reports whether the server is available, even if the last edit was " +
			"rejected."},
		{Name: v1alpha2.ConditionStorageReachable, Meaning: "Reports whether the server reads its stores in PostgreSQL and " +
			"Redis. The operator asks after each rollout and then every three minutes, or every minute while a read fails. " +
			"While it is False, `Ready` is False. It is absent if the configuration keeps nothing in PostgreSQL or Redis."},
		{Name: v1alpha2.ConditionBackendsReachable, Meaning: "Reports, for information, which models the server lists of " +
			"the model servers in `spec.providers.inference`, as it answered within seconds after the last rollout or change " +
			"of its pods. `Ready` does not depend on it: Ready does not mean that models answer."},
		{Name: v1alpha2.ConditionAccessControlled, Meaning: "Reports whether the server refuses callers without " +
			"credentials, as it did within seconds after the last rollout or change of its pods. It is absent if the " +
			"configuration has no authentication. `Ready` does not depend on it."},
		{Name: v1alpha2.ConditionStalled, Meaning: "Is True with the reason of the first terminal error, and absent " +
			"otherwise."},
		{Name: v1alpha2.ConditionDeploymentReady, Meaning: "A condition of release 0.9, for compatibility."},
		{Name: v1alpha2.ConditionHealthCheck, Meaning: "A condition of release 0.9, for compatibility."},
		{Name: v1alpha2.ConditionStorageReady, Meaning: "A condition of release 0.9, for compatibility."},
		{Name: v1alpha2.ConditionServiceReady, Meaning: "A condition of release 0.9, for compatibility."},
	}
	reasons := Reasons()
	for i := range list {
		for _, r := range reasons {
			if slices.Contains(r.Conditions, list[i].Name) {
				list[i].Reasons = append(list[i].Reasons, r.Name)
			}
		}
		slices.Sort(list[i].Reasons)
		list[i].Reasons = slices.Compact(list[i].Reasons)
	}
	return list
}

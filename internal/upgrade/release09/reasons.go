// SPDX-License-Identifier: Apache-2.0

package release09

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// Reason documents a reason of a condition.
type Reason struct {
	// Condition is the type, Status its status.
	Condition string
	Status    metav1.ConditionStatus
	// Reason is the reason.
	Reason string
	// Meaning, Example and Remedy are the meaning, a message and the fix; Remedy is empty if nothing is wrong.
	Meaning, Example, Remedy string
}

// Reasons returns the reasons of Conditions.
func Reasons() []Reason { return slices.Clone(reasons) }

var reasons = []Reason{
	{
		v1alpha2.ConditionDeploymentReady, metav1.ConditionTrue, v1alpha2.ReasonLegacyDeploymentReady, "As " +
			"DeploymentUpdated.", "All pods are up to date", "",
	},
	{
		v1alpha2.ConditionDeploymentReady, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentPending,
		"As RolloutInProgress; with HealthCheck, no server responds yet.", "1 of 2 pods are up to date", "Wait.",
	},
	{
		v1alpha2.ConditionDeploymentReady, metav1.ConditionFalse, v1alpha2.ReasonLegacyDeploymentFailed, "As " +
			"ProgressDeadlineExceeded.",
		`ReplicaSet "my-server-6d4cf56db6" has timed out progressing.`, "Look at the pods and their logs.",
	},
	{
		v1alpha2.ConditionHealthCheck, metav1.ConditionTrue, v1alpha2.ReasonLegacyHealthPassed, "A pod is available.",
		"The health check of the server passes", "",
	},
	{
		v1alpha2.ConditionHealthCheck, metav1.ConditionFalse, v1alpha2.ReasonLegacyHealthFailed, "No pod became available " +
			"in time.",
		"No server passes the health check", "Look at the pods and their logs.",
	},
	{
		v1alpha2.ConditionStorageReady, metav1.ConditionTrue, v1alpha2.ReasonLegacyStorageReady, "The " +
			"PersistentVolumeClaim is bound.",
		"The PVC my-server-pvc is bound", "",
	},
	{
		v1alpha2.ConditionStorageReady, metav1.ConditionFalse, v1alpha2.ReasonLegacyStoragePending, "The " +
			"PersistentVolumeClaim is not bound yet.",
		"The PVC my-server-pvc is not bound yet", "Look at the PersistentVolumeClaim and its storage class.",
	},
	{
		v1alpha2.ConditionServiceReady, metav1.ConditionTrue, v1alpha2.ReasonLegacyServiceReady, "The Service exists.",
		"The Service my-server-service exists", "",
	},
	{
		v1alpha2.ConditionServiceReady, metav1.ConditionFalse, v1alpha2.ReasonLegacyServicePending, "The Service does not " +
			"exist yet.",
		"The Service does not exist yet", "Look at the other conditions.",
	},
}

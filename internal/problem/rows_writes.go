// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

var writeRows = []Row{
	{
		Reason: Conflict, Class: Terminal, Conditions: inDeploymentUpdated, Polled: true,
		Meaning: "An object of this name exists and belongs to somebody else. Nothing was changed.",
		Example: Problem{
			Path:   "Deployment my-server",
			Detail: "exists and is controlled by StatefulSet other; nothing was changed",
			Fix:    "create the LlamaStackDistribution under another name, or rename the other object",
		},
		Remedy: "Create the custom resource under another name, or rename the other object.",
	},
	{
		Reason: WaitingForRemoval, Class: WaitingForDependency, Conditions: inDeploymentUpdated, FixedElsewhere: true,
		Polled:  true,
		Meaning: "An object of an earlier custom resource with this name is being removed.",
		Example: Problem{
			Path:   "Deployment my-server",
			Detail: "still belongs to an earlier custom resource of this name, which is being removed",
			Fix:    "wait",
		},
		Remedy: "Wait.",
	},
	{
		Reason: ApplyFailed, Class: Transient, Conditions: inDeploymentUpdated, FixedElsewhere: true,
		Meaning: "The API server did not take an object. The operator tries again.",
		Example: Problem{
			Path:   "Deployment my-server",
			Detail: "could not be applied: etcdserver: request timed out",
		},
		Remedy: "Usually nothing. If it stays, the message names what the API server, a quota or a policy says.",
	},
	{
		Reason: ObjectRejected, Class: Terminal, Conditions: inDeploymentUpdated,
		Meaning: "The API server calls an object invalid or too large, does not allow its change, such as another size of " +
			"a PersistentVolumeClaim, or does not take a field, because its Kubernetes does not have it or the field's " +
			"feature gate is off.",
		Example: Problem{
			Path: "spec.workload.overrides.env",
			Detail: "Deployment my-server could not be applied: Deployment.apps \"my-server\" is invalid: " +
				"spec.template.spec.containers[0].env[3].name: Invalid value: \"a=b\": a valid environment variable name must " +
				"consist only of printable ASCII characters other than '='",
		},
		Remedy: "Correct the field of the spec that the object's field is made of, mostly under `spec.workload`. If a " +
			"PersistentVolumeClaim cannot get the size, set it to what it was, or move the data to a new custom resource.",
	},
	{
		Reason: InternalError, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "The operator has a bug.",
		Example: Problem{
			Path: "spec", Type: field.ErrorTypeInternal,
			Detail: "an error in the operator ended the reconcile of this custom resource; what runs stays as it is. Trying " +
				"again in 10m0s, or when the custom resource changes",
			Fix: "the operator's log has details, please report it",
		},
		Remedy: "Report it with the operator's log.",
	},
}

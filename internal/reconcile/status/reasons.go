// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/upgrade/release09"
)

// Reason documents a condition's reason that is not a problem, for docs/status.md.
type Reason struct {
	Condition string
	Status    metav1.ConditionStatus
	Reason    string
	// Meaning describes the state in one sentence.
	Meaning string
	Example string
	// Remedy is the advice, or empty.
	Remedy string
}

// Reasons returns all reasons that are not problems, in the order of the documentation.
func Reasons() []Reason {
	list := slices.Clone(reasons)
	for _, r := range release09.Reasons() {
		list = append(list, Reason(r))
	}
	return list
}

var reasons = []Reason{
	{
		v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonConfigGenerationSucceeded,
		"The operator generated the server's configuration. Why the release line is not the newest one, and warnings, " +
			"follow in the message.",
		"Generated config.yaml with 3 providers and 2 models for server release 1.0", "",
	},
	{
		v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonOverride,
		"The configuration is your own. Warnings follow in the message.",
		"The configuration is that of spec.overrideConfig, unchanged", "",
	},
	{
		v1alpha2.ConditionConfigGenerated, metav1.ConditionTrue, v1alpha2.ReasonImageDefault,
		"The operator generated nothing, because the spec needs no generated configuration.",
		"Nothing was generated: the spec names only a distribution, whose image runs its own default configuration", "",
	},
	{
		v1alpha2.ConditionSecretsResolved, metav1.ConditionTrue, v1alpha2.ReasonAllSecretsFound,
		"Every Secret and key that the spec refers to exists.", "2 secret references resolved", "",
	},
	{
		v1alpha2.ConditionSecretsResolved, metav1.ConditionTrue, v1alpha2.ReasonNoSecrets,
		"The spec refers to no Secret.", "The spec refers to no Secret", "",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionTrue, v1alpha2.ReasonDeploymentUpdated,
		"The Deployment and all its pods match the spec.", "All pods are up to date", "",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolloutInProgress,
		"The Deployment matches the spec, but not all of its pods do yet.", "1 new pod is not ready; 1 old pod still serves",
		"If the message names a cause, do what it says. Otherwise wait, and look at the pods if it takes long.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonSecretChanged,
		"A Secret that the spec or the operator's settings refer to changed, and not all pods use its new content yet.",
		"A referenced Secret changed. 1 new pod is not ready; 1 old pod still serves", "As RolloutInProgress.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonConfigMapChanged,
		"The same for a ConfigMap, also for that of the namespace's CA certificates.",
		"A referenced ConfigMap changed. 1 new pod is not ready; 1 old pod still serves",
		"As RolloutInProgress.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonUndoReverted,
		"A client put the pod template of an earlier revision back into the Deployment, as `kubectl rollout undo` does. " +
			"The operator replaced it with that of the spec.",
		causes[v1alpha2.ReasonUndoReverted] + ". 1 new pod is not ready; 1 old pod still serves",
		"To go back to an earlier state, edit the custom resource.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolloutStuck,
		"The new pods did not become available in time.", `ReplicaSet "my-server-6d4cf56db6" has timed out progressing.`,
		"Look at the pods and their logs. `progressDeadlineSeconds` of the Deployment is the time.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonRolledBack,
		"The pod of the last edit did not start, no other pod could run beside it, and the operator applied the former pod " +
			"template again.",
		"The pod of the last edit did not start, and the former pod template is back: ImagePullBackOff: example/server:1: " +
			"not found",
		"Correct what the message names. To keep a pod that does not start, set `workload.rollback: Never`.",
	},
	{
		v1alpha2.ConditionDeploymentUpdated, metav1.ConditionFalse, v1alpha2.ReasonNotApplied,
		"An earlier step failed, so nothing was changed.", "Nothing was changed: see " +
			"ConfigGenerated",
		"Fix what the other condition reports.",
	},
	{
		v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonServerAvailable,
		"Enough pods are available. Differences between the spec and what the server reports follow in the message, such " +
			"as what it does not list.",
		"2 of 2 pods are available; the server does not list: vectorStores/docs", "",
	},
	{
		v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonServerUnavailable,
		"Not enough pods are available.", "0 of 2 pods are available", "Look at the pods and their logs.",
	},
	{
		v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonScaledToZero,
		"The spec asks for zero replicas. Ready can still be True.", "The server is scaled to zero", "",
	},
	{
		v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonAutoscalingPaused,
		"Someone scaled the Deployment to zero, which pauses its autoscaler. The operator does not change this.",
		"The Deployment is scaled to zero, which pauses the HorizontalPodAutoscaler my-server-hpa; to continue: " +
			"kubectl -n mine scale deployment my-server --replicas=1",
		"Scale the Deployment to one or more pods: the autoscaler continues from there.",
	},
	{
		v1alpha2.ConditionAvailable, metav1.ConditionFalse, v1alpha2.ReasonNotDeployed,
		"The Deployment does not exist yet.", "The Deployment does not exist yet", "Look at the other conditions.",
	},
	{
		v1alpha2.ConditionStorageReachable, metav1.ConditionTrue, v1alpha2.ReasonStorageReachable,
		"The server reads its stores in PostgreSQL and Redis.",
		"The server reads its stores prompts in Redis (spec.storage.kv, storage backend kv_default); conversations and " +
			"inference in PostgreSQL (spec.storage.sql, storage backend sql_default)", "",
	},
	{
		v1alpha2.ConditionStorageReachable, metav1.ConditionFalse, v1alpha2.ReasonStorageUnreachable,
		"The server responds with an error of its own to requests that read a store, or does not respond: it cannot use " +
			"the database. The operator asks again every minute. Ready is False too.",
		"The server cannot read its stores conversations and inference in PostgreSQL (spec.storage.sql, storage backend " +
			"sql_default); the cause is in its log: kubectl llamastack status my-server -n mine",
		"See the cause with `kubectl llamastack status`, and fix the database or the Secret with its address. If the " +
			"database answers again and this stays, restart the server: some releases do not connect again by themselves.",
	},
	{
		v1alpha2.ConditionStorageReachable, metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown,
		"No request shows whether the server reads its stores, such as if it requires credentials, which the operator " +
			"does not have.",
		"The server shows its stores to authenticated callers only: inference in PostgreSQL (spec.storage.sql, storage " +
			"backend sql_default)", "",
	},
	{
		v1alpha2.ConditionBackendsReachable, metav1.ConditionTrue, v1alpha2.ReasonModelsListed,
		"Each model server of the spec reported models to the server, some time after the last rollout or change of pods. " +
			"Ready does not depend on this condition.",
		"The server lists 2 models of the providers vllm: vllm/llama3.2-70b, vllm/llama3.2-8b", "",
	},
	{
		v1alpha2.ConditionBackendsReachable, metav1.ConditionFalse, v1alpha2.ReasonNoModelsListed,
		"The server lists no models of a provider: its model server does not respond, rejects the key, or has no models.",
		"The server lists no models of the providers vllm", "Look at the endpoint and the key of the provider, and at the " +
			"log of the server.",
	},
	{
		v1alpha2.ConditionBackendsReachable, metav1.ConditionUnknown, v1alpha2.ReasonOnlyRegisteredModels,
		"The server may list no more models than the spec registers. It lists these even if their model server does not " +
			"respond.",
		"The server lists 1 model of the providers vllm: vllm/llama3.2-8b; registered models are listed even if their " +
			"model servers do not respond",
		"To find out, send a request to a model.",
	},
	{
		v1alpha2.ConditionBackendsReachable, metav1.ConditionUnknown, v1alpha2.ReasonModelsUnknown,
		"The models of the server could not be read.", "GET /v1/models: the server requires credentials", "",
	},
	{
		v1alpha2.ConditionAccessControlled, metav1.ConditionTrue, v1alpha2.ReasonCredentialsRequired,
		"The server refused the operator, which has no credentials, some time after the last rollout or change of pods.",
		"The server requires credentials (authentication kubernetes)", "",
	},
	{
		v1alpha2.ConditionAccessControlled, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone,
		"The configuration has authentication, but the server still responds to callers without credentials: it does not " +
			"run this configuration, or its image ignores it. Ready does not depend on this condition, but its message has a " +
			"warning.",
		"The server lists its providers and models to callers without credentials, although its configuration has " +
			"authentication kubernetes",
		"Look at the warnings of ConfigGenerated: a command, arguments, a variable or a mount may give the server another " +
			"configuration. Otherwise look at its image. Until it is fixed, keep clients away with `networking.allowedFrom`.",
	},
	{
		v1alpha2.ConditionAccessControlled, metav1.ConditionUnknown, v1alpha2.ReasonAccessUnknown,
		"The server could not be probed.", "The server could not be probed: GET /v1/version: no response in time",
		"Find out why the operator cannot reach the server.",
	},
	{
		v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonReady, "The spec is applied, and the server is " +
			"available.", "The spec is applied", "",
	},
	{
		v1alpha2.ConditionReady, metav1.ConditionTrue, v1alpha2.ReasonNoCallers, "The same, but " +
			"`networking.allowedFrom.pods` selects no pod that exists. The operator looks again every minute, and every ten " +
			"minutes while there is one. It does not report this where it may not list pods.",
		"The spec is applied; warning: no pod in the namespace gateway matches spec.networking.allowedFrom.pods: nobody " +
			"but the operator can reach the server",
		"Compare the selector and the namespaces with the labels of the pods: `kubectl get pods -n gateway --show-labels`.",
	},
}

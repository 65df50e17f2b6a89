// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// The condition types of a LlamaStackDistribution.
const (
	// ConditionReady summarizes the other conditions: the spec is applied and the server is available.
	ConditionReady = "Ready"
	// ConditionConfigGenerated reports whether the configuration was generated from the spec.
	ConditionConfigGenerated = "ConfigGenerated"
	// ConditionSecretsResolved reports whether every referenced Secret and key exists and can be used.
	ConditionSecretsResolved = "SecretsResolved"
	// ConditionDeploymentUpdated reports whether the spec is applied to the Deployment and its pods.
	ConditionDeploymentUpdated = "DeploymentUpdated"
	// ConditionAvailable reports whether the server is available, independently of the other conditions.
	ConditionAvailable = "Available"
	// ConditionStorageReachable reports whether the server reads its stores in PostgreSQL and Redis. It is absent without
	// such a store; while it is False, so is Ready.
	ConditionStorageReachable = "StorageReachable"
	// ConditionBackendsReachable reports whether the server lists models of its model servers. It does not affect Ready,
	// and is absent without a remote inference provider in the spec.
	ConditionBackendsReachable = "BackendsReachable"
	// ConditionAccessControlled reports whether the server rejects callers without credentials. It is absent if the
	// configuration has no authentication.
	ConditionAccessControlled = "AccessControlled"
	// ConditionStalled is True if an edit is needed (a kstatus condition), and absent otherwise.
	ConditionStalled = "Stalled"
)

// The condition types of operator release 0.9, for existing clients.
const (
	// ConditionDeploymentReady reports whether all desired pods are up to date and available.
	ConditionDeploymentReady = "DeploymentReady"
	// ConditionHealthCheck reports whether a server passes its health check, which makes a pod available.
	ConditionHealthCheck = "HealthCheck"
	// ConditionStorageReady reports whether the PVC is bound. It is absent without a PVC.
	ConditionStorageReady = "StorageReady"
	// ConditionServiceReady reports whether the Service exists.
	ConditionServiceReady = "ServiceReady"
)

// The reasons of the condition types of release 0.9.
const (
	ReasonLegacyDeploymentReady   = "DeploymentReady"
	ReasonLegacyDeploymentPending = "DeploymentPending"
	ReasonLegacyDeploymentFailed  = "DeploymentFailed"
	ReasonLegacyHealthPassed      = "HealthCheckPassed"
	ReasonLegacyHealthFailed      = "HealthCheckFailed"
	ReasonLegacyStorageReady      = "StorageReady"
	ReasonLegacyStoragePending    = "StoragePending"
	ReasonLegacyServiceReady      = "ServiceReady"
	ReasonLegacyServicePending    = "ServicePending"
)

// LegacyConditions returns the condition types of operator release 0.9, which repeat the others.
func LegacyConditions() []string {
	return []string{ConditionDeploymentReady, ConditionHealthCheck, ConditionStorageReady, ConditionServiceReady}
}

// The reasons of ConditionConfigGenerated. Reasons of False conditions are in package problem.
const (
	// ReasonConfigGenerationSucceeded means that a configuration was generated.
	ReasonConfigGenerationSucceeded = "ConfigGenerationSucceeded"
	// ReasonImageDefault means that the image runs its own default configuration.
	ReasonImageDefault = "ImageDefault"
	// ReasonOverride means that the user provides the configuration.
	ReasonOverride = "Override"
)

// The reasons of ConditionSecretsResolved.
const (
	// ReasonAllSecretsFound means that every referenced Secret and key exists.
	ReasonAllSecretsFound = "AllSecretsFound"
	// ReasonNoSecrets means that the spec refers to no Secret.
	ReasonNoSecrets = "NoSecretsReferenced"
)

// The reasons of ConditionDeploymentUpdated.
const (
	// ReasonDeploymentUpdated means that the spec is applied to the Deployment and all its pods.
	ReasonDeploymentUpdated = "DeploymentUpdated"
	// ReasonRolloutInProgress means that the spec is applied to the Deployment but not yet to all pods.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonSecretChanged means that a referenced Secret changed and not all pods use its new content yet.
	ReasonSecretChanged = "SecretChanged"
	// ReasonConfigMapChanged means that a referenced ConfigMap changed and not all pods use its new content yet.
	ReasonConfigMapChanged = "ConfigMapChanged"
	// ReasonUndoReverted means that an earlier pod template was put back into the Deployment, and replaced.
	ReasonUndoReverted = "UndoReverted"
	// ReasonRolloutStuck means that the Deployment does not make progress.
	ReasonRolloutStuck = "ProgressDeadlineExceeded"
	// ReasonRolledBack means that the new pod did not start, and the Deployment has its former pod template.
	ReasonRolledBack = "RolledBack"
	// ReasonNotApplied means that an earlier step failed and the Deployment is unchanged.
	ReasonNotApplied = "NotApplied"
)

// RolloutReasons returns the reasons of ConditionDeploymentUpdated while a rollout makes progress.
func RolloutReasons() []string {
	return []string{ReasonRolloutInProgress, ReasonSecretChanged, ReasonConfigMapChanged, ReasonUndoReverted}
}

// The reasons of ConditionAvailable.
const (
	// ReasonServerAvailable means that enough pods are available.
	ReasonServerAvailable = "ServerAvailable"
	// ReasonServerUnavailable means that not enough pods are available.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonScaledToZero means that the spec asks for zero replicas.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonAutoscalingPaused means that an autoscaled Deployment was scaled to zero.
	ReasonAutoscalingPaused = "AutoscalingPaused"
	// ReasonNotDeployed means that the Deployment does not exist yet.
	ReasonNotDeployed = "NotDeployed"
)

// The reasons of ConditionStorageReachable.
const (
	// ReasonStorageReachable means that the server reads its stores in PostgreSQL and Redis.
	ReasonStorageReachable = "StorageReachable"
	// ReasonStorageUnreachable means that the server reports an error for a store, or no result.
	ReasonStorageUnreachable = "StorageUnreachable"
	// ReasonStorageUnknown means that no request shows whether the server reads its stores.
	ReasonStorageUnknown = "StorageUnknown"
)

// The reasons of ConditionBackendsReachable.
const (
	// ReasonModelsListed means that the server lists models of each model server.
	ReasonModelsListed = "ModelsListed"
	// ReasonNoModelsListed means that the server lists no models of a model server.
	ReasonNoModelsListed = "NoModelsListed"
	// ReasonOnlyRegisteredModels means that the server lists only registered models, so the state of the model servers is
	// unknown.
	ReasonOnlyRegisteredModels = "OnlyRegisteredModels"
	// ReasonModelsUnknown means that the request for the server's models failed.
	ReasonModelsUnknown = "ModelsUnknown"
)

// The reasons of ConditionAccessControlled.
const (
	// ReasonCredentialsRequired means that the server rejects callers without credentials.
	ReasonCredentialsRequired = "CredentialsRequired"
	// ReasonAnswersAnyone means that the server answers callers without credentials although authentication is configured.
	ReasonAnswersAnyone = "AnswersAnyone"
	// ReasonAccessUnknown means that the request to the server failed.
	ReasonAccessUnknown = "AccessUnknown"
)

// The reasons of ConditionReady. If it is False, it has the reason of the first False condition.
const (
	// ReasonReady means that all conditions are fulfilled.
	ReasonReady = "Ready"
	// ReasonNoCallers means the same, but no pod may call the server.
	ReasonNoCallers = "NoCallers"
)

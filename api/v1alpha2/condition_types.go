// SPDX-License-Identifier: Apache-2.0

package v1alpha2

// The condition types of a LlamaStackDistribution.
const (
	// ConditionReady sums up the other conditions: the spec is applied and the server is available.
	ConditionReady = "Ready"
	// ConditionConfigGenerated reports whether the server's configuration could be made from the spec.
	ConditionConfigGenerated = "ConfigGenerated"
	// ConditionSecretsResolved reports whether every referenced Secret and key exists and can be used.
	ConditionSecretsResolved = "SecretsResolved"
	// ConditionDeploymentUpdated reports whether the Deployment carries the spec.
	ConditionDeploymentUpdated = "DeploymentUpdated"
	// ConditionAvailable reports whether the server serves, whatever the other conditions say.
	ConditionAvailable = "Available"
	// ConditionBackendsReachable reports what the server itself says about the model servers behind it, for information:
	// Ready does not depend on it. It is absent where the spec configures no remote inference provider.
	ConditionBackendsReachable = "BackendsReachable"
	// ConditionAccessControlled reports whether the server refuses callers without credentials. It is absent where its
	// configuration has no authentication.
	ConditionAccessControlled = "AccessControlled"
	// ConditionStalled is True while only an edit can help (a kstatus condition); it is absent otherwise.
	ConditionStalled = "Stalled"
)

// The condition types of operator release 0.9, which programs of its time look at.
const (
	// ConditionDeploymentReady reports whether all desired pods are up to date and available.
	ConditionDeploymentReady = "DeploymentReady"
	// ConditionHealthCheck reports whether a server answers its health check: that is what makes a pod available.
	ConditionHealthCheck = "HealthCheck"
	// ConditionStorageReady reports whether the PVC is bound; it is absent where the resource has none.
	ConditionStorageReady = "StorageReady"
	// ConditionServiceReady reports whether there is a Service.
	ConditionServiceReady = "ServiceReady"
)

// The reasons of the condition types of release 0.9, as it writes them.
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

// LegacyConditions are the condition types of operator release 0.9. They repeat what the others say.
func LegacyConditions() []string {
	return []string{ConditionDeploymentReady, ConditionHealthCheck, ConditionStorageReady, ConditionServiceReady}
}

// The reasons of ConditionConfigGenerated. Those of problems, which make conditions False, are in package problem.
const (
	// ReasonConfigGenerationSucceeded: a configuration was generated.
	ReasonConfigGenerationSucceeded = "ConfigGenerationSucceeded"
	// ReasonImageDefault: nothing had to be generated, the image runs its own default configuration.
	ReasonImageDefault = "ImageDefault"
	// ReasonOverride: the configuration is the user's own, unchanged.
	ReasonOverride = "Override"
)

// The reasons of ConditionSecretsResolved.
const (
	// ReasonAllSecretsFound: every referenced Secret and key exists.
	ReasonAllSecretsFound = "AllSecretsFound"
	// ReasonNoSecrets: the spec references no Secret.
	ReasonNoSecrets = "NoSecretsReferenced"
)

// The reasons of ConditionDeploymentUpdated.
const (
	// ReasonDeploymentUpdated: the Deployment carries the spec and its pods do too.
	ReasonDeploymentUpdated = "DeploymentUpdated"
	// ReasonRolloutInProgress: the Deployment carries the spec, its pods do not all yet.
	ReasonRolloutInProgress = "RolloutInProgress"
	// ReasonRolloutStuck: the Deployment does not make progress.
	ReasonRolloutStuck = "ProgressDeadlineExceeded"
	// ReasonNotApplied: an earlier step failed, the Deployment stays as it was.
	ReasonNotApplied = "NotApplied"
)

// The reasons of ConditionAvailable.
const (
	// ReasonServerAvailable: enough pods are available.
	ReasonServerAvailable = "ServerAvailable"
	// ReasonServerUnavailable: not enough pods are available.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonScaledToZero: the spec asks for zero pods.
	ReasonScaledToZero = "ScaledToZero"
	// ReasonAutoscalingPaused: the spec has an autoscaler, and someone scaled the Deployment to zero.
	ReasonAutoscalingPaused = "AutoscalingPaused"
	// ReasonNotDeployed: there is no Deployment yet.
	ReasonNotDeployed = "NotDeployed"
)

// The reasons of ConditionBackendsReachable.
const (
	// ReasonModelsListed: the server has the models of each model server.
	ReasonModelsListed = "ModelsListed"
	// ReasonNoModelsListed: the server lists no models of a model server.
	ReasonNoModelsListed = "NoModelsListed"
	// ReasonOnlyRegisteredModels: the server may list no more models than the spec registers, which says nothing about the
	// model servers.
	ReasonOnlyRegisteredModels = "OnlyRegisteredModels"
	// ReasonModelsUnknown: the server could not be asked for its models.
	ReasonModelsUnknown = "ModelsUnknown"
)

// The reasons of ConditionAccessControlled.
const (
	// ReasonCredentialsRequired: the server refuses callers without credentials.
	ReasonCredentialsRequired = "CredentialsRequired"
	// ReasonAnswersAnyone: the server answers callers without credentials, although its configuration has
	// authentication.
	ReasonAnswersAnyone = "AnswersAnyone"
	// ReasonAccessUnknown: the server could not be asked.
	ReasonAccessUnknown = "AccessUnknown"
)

// The reasons of ConditionReady that are its own; otherwise it takes the reason of the condition that is False.
const (
	// ReasonReady: all is well.
	ReasonReady = "Ready"
)

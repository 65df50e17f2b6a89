// SPDX-License-Identifier: Apache-2.0

package problem

// The conditions that report problems. They duplicate constants of the API, which this package does not import.
const (
	configGenerated   = "ConfigGenerated"
	secretsResolved   = "SecretsResolved"
	deploymentUpdated = "DeploymentUpdated"
	available         = "Available"
)

// Reasons about a field of the spec.
const (
	// InvalidField means that a field, or the name of the custom resource, has the wrong type, format or range; for the
	// kubectl plugin also that a document is not an object of this API.
	InvalidField Reason = "InvalidField"
	// MissingField means that a required field is absent. It is a warning if only some uses need the field.
	MissingField Reason = "MissingField"
	// UnknownField means that the field does not exist.
	UnknownField Reason = "UnknownField"
	// ConflictingFields means that two fields set the same value or register the same thing.
	ConflictingFields Reason = "ConflictingFields"
	// NoEffect warns that a field is set without effect.
	NoEffect Reason = "NoEffect"
	// HostnameNotUnique warns that the exposed server has no host name, or shares it with an older custom resource.
	HostnameNotUnique Reason = "HostnameNotUnique"
	// Unprotected warns that callers may reach the server without authentication, that data can be read on the way, or
	// that the server does not verify a certificate.
	Unprotected Reason = "Unprotected"
	// TooLarge means that the spec, a referenced object or a generated object exceeds a limit.
	TooLarge Reason = "TooLarge"
	// MoreProblems means that there may be more problems than are shown.
	MoreProblems Reason = "MoreProblems"
	// ForbiddenBySettings means that the operator's settings or flags forbid a field, a registry or another namespace.
	ForbiddenBySettings Reason = "ForbiddenBySettings"
	// UnsupportedByOperator means that this operator does not support the spec.
	UnsupportedByOperator Reason = "UnsupportedByOperator"
	// UnsupportedByRelease means that the release line of the server does not support the spec.
	UnsupportedByRelease Reason = "UnsupportedByRelease"
	// ReviewConversion warns about fields of a v1alpha1 resource that were lost or that v1alpha2 expresses differently.
	ReviewConversion Reason = "ReviewConversion"
)

// Reasons about providers, resources and storage.
const (
	// DuplicateProviderID means that two providers have the same id.
	DuplicateProviderID Reason = "DuplicateProviderID"
	// UnknownProviderType means that the release line does not know the type. It is a warning if the image may have it.
	UnknownProviderType Reason = "UnknownProviderType"
	// DeprecatedProviderType warns that a future server removes the provider type.
	DeprecatedProviderType Reason = "DeprecatedProviderType"
	// LiteralSecret warns that the spec contains a secret as text.
	LiteralSecret Reason = "LiteralSecret"
	// SharedStorageLocation means that two providers or backends have the same storage location. It warns of a database
	// that another custom resource uses, too.
	SharedStorageLocation Reason = "SharedStorageLocation"
	// EphemeralState warns that state is lost, or differs between pods or workers.
	EphemeralState Reason = "EphemeralState"
	// UnknownProvider means that a model, tool, shield or vector store names a provider that does not exist.
	UnknownProvider Reason = "UnknownProvider"
	// ProviderNotEnabled means that only an environment variable enables the provider in use.
	ProviderNotEnabled Reason = "ProviderNotEnabled"
	// DisabledAPI means that the spec uses an API in spec.disabled, or that others need that API.
	DisabledAPI Reason = "DisabledAPI"
	// UndefinedVariable warns that the spec does not set an environment variable of the configuration.
	UndefinedVariable Reason = "UndefinedVariable"
	// BrokenReference means that the configuration lacks an entry that the spec or the configuration refers to.
	BrokenReference Reason = "BrokenReference"
)

// Reasons about the distribution and its base configuration.
const (
	// UnknownDistribution means that no distribution has this name.
	UnknownDistribution Reason = "UnknownDistribution"
	// UnknownServerLine means that the release line is unknown. It is a warning if it is newer than all known ones.
	UnknownServerLine Reason = "UnknownServerLine"
	// UnsupportedRelease means that the server is older than every supported release line.
	UnsupportedRelease Reason = "UnsupportedRelease"
	// MissingConfigLabels means that the image has no known base configuration.
	MissingConfigLabels Reason = "MissingConfigLabels"
	// ReadingImageLabels means that the request for the labels of the image is still running.
	ReadingImageLabels Reason = "ReadingImageLabels"
	// RegistryUnavailable means that the registry of the image does not answer, or sends damaged data.
	RegistryUnavailable Reason = "RegistryUnavailable"
	// ImageNotAccessible means that the registry does not have the image, or refuses the credentials.
	ImageNotAccessible Reason = "ImageNotAccessible"
	// InvalidImage means that the registry has no image for the nodes' platform, or that its labels are invalid.
	InvalidImage Reason = "InvalidImage"
	// InvalidBaseConfig means that the base configuration is invalid.
	InvalidBaseConfig Reason = "InvalidBaseConfig"
	// InvalidOperatorSettings means that the operator's settings are invalid.
	InvalidOperatorSettings Reason = "InvalidOperatorSettings"
)

// Reasons about objects that the spec refers to.
const (
	// InvalidConfigMap means that the configuration or the CA bundle in a ConfigMap is invalid.
	InvalidConfigMap Reason = "InvalidConfigMap"
	// ConfigMapNotFound means that a ConfigMap or its key does not exist, or is not shared with this namespace.
	ConfigMapNotFound Reason = "ConfigMapNotFound"
	// SecretNotFound means that a Secret or its key does not exist.
	SecretNotFound Reason = "SecretNotFound"
	// InvalidSecret means that a value or a certificate in a Secret is invalid.
	InvalidSecret Reason = "InvalidSecret"
	// DependencyNotReady means that the API that exposes servers or the address for endpointFrom does not exist yet, or
	// that a model server is not Ready before the first start.
	DependencyNotReady Reason = "DependencyNotReady"
	// LookupFailed means that a read failed or the reconcile ended early.
	LookupFailed Reason = "LookupFailed"
)

// Reasons about what the operator writes.
const (
	// Conflict means that an object of this name exists and has another owner.
	Conflict Reason = "Conflict"
	// WaitingForRemoval means that an object of a deleted custom resource is being removed.
	WaitingForRemoval Reason = "WaitingForRemoval"
	// ApplyFailed means that the API server did not accept an object, and the operator retries.
	ApplyFailed Reason = "ApplyFailed"
	// ObjectRejected means that the API server rejects an object or its change as invalid.
	ObjectRejected Reason = "ObjectRejected"
	// InternalError means that the operator has a bug.
	InternalError Reason = "InternalError"
)

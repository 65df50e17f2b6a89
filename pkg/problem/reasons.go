// SPDX-License-Identifier: Apache-2.0

package problem

// The conditions that report problems. They are those of the API; this package does not import it.
const (
	configGenerated   = "ConfigGenerated"
	secretsResolved   = "SecretsResolved"
	deploymentUpdated = "DeploymentUpdated"
	available         = "Available"
)

// Reasons about a field of the spec.
const (
	// InvalidField: the value of a field, or the name of the custom resource, has the wrong type, form or range. For the kubectl plugin: a document
	// that cannot be read as an object of this API.
	InvalidField Reason = "InvalidField"
	// MissingField: a required field is absent. A warning where only some uses need it.
	MissingField Reason = "MissingField"
	// UnknownField: there is no such field.
	UnknownField Reason = "UnknownField"
	// UnsupportedValue: the value is not one of those that a field takes.
	UnsupportedValue Reason = "UnsupportedValue"
	// ConflictingFields: two places of the spec set the same thing, or register it twice.
	ConflictingFields Reason = "ConflictingFields"
	// NoEffect: a field is set and does nothing. A warning.
	NoEffect Reason = "NoEffect"
	// HostnameNotUnique: what exposes the server has no host name, or an older custom resource uses the same one. A warning.
	HostnameNotUnique Reason = "HostnameNotUnique"
	// Unprotected: anyone who reaches the server may call it, or can read what its callers send. A warning.
	Unprotected Reason = "Unprotected"
	// TooLarge: the spec, or what is made of it, is larger than a limit.
	TooLarge Reason = "TooLarge"
	// MoreProblems: there may be more problems than are shown.
	MoreProblems Reason = "MoreProblems"
	// ForbiddenBySettings: the operator's settings forbid what the spec asks for.
	ForbiddenBySettings Reason = "ForbiddenBySettings"
	// UnsupportedByOperator: this operator cannot do what the spec asks for.
	UnsupportedByOperator Reason = "UnsupportedByOperator"
	// UnsupportedByRelease: the release line of the server cannot do what the spec asks for.
	UnsupportedByRelease Reason = "UnsupportedByRelease"
	// LostInConversion: fields of v1alpha1 were lost in conversion. A warning.
	LostInConversion Reason = "LostInConversion"
	// ReviewConversion: what to look at after a conversion with the kubectl plugin. A warning.
	ReviewConversion Reason = "ReviewConversion"
)

// Reasons about providers, resources and storage.
const (
	// DuplicateProviderID: two providers have one id.
	DuplicateProviderID Reason = "DuplicateProviderID"
	// UnknownProviderType: the release line does not know the provider type. A warning where the image may bring it.
	UnknownProviderType Reason = "UnknownProviderType"
	// DeprecatedProviderType: the provider type will be removed from the server. A warning.
	DeprecatedProviderType Reason = "DeprecatedProviderType"
	// LiteralSecret: a secret stands in the spec itself. A warning.
	LiteralSecret Reason = "LiteralSecret"
	// SharedStorageLocation: two providers or backends would keep their state in one storage location.
	SharedStorageLocation Reason = "SharedStorageLocation"
	// EphemeralState: state is lost or differs between pods. A warning.
	EphemeralState Reason = "EphemeralState"
	// UnknownProvider: a model, tool, shield or vector store names a provider that does not exist.
	UnknownProvider Reason = "UnknownProvider"
	// ProviderNotEnabled: a provider that is used is enabled only by an environment variable.
	ProviderNotEnabled Reason = "ProviderNotEnabled"
	// DisabledAPI: the spec uses or removes what spec.disabled names.
	DisabledAPI Reason = "DisabledAPI"
	// UndefinedVariable: the configuration refers to an environment variable that nothing in the spec sets. A warning.
	UndefinedVariable Reason = "UndefinedVariable"
	// BrokenReference: the spec or the configuration refers to something that the configuration does not have.
	BrokenReference Reason = "BrokenReference"
)

// Reasons about the distribution and its base configuration.
const (
	// UnknownDistribution: no distribution has this name.
	UnknownDistribution Reason = "UnknownDistribution"
	// UnknownServerLine: nothing says which release line the server has. A warning where it is newer than all that the operator knows.
	UnknownServerLine Reason = "UnknownServerLine"
	// UnsupportedRelease: the server is older than every supported release line.
	UnsupportedRelease Reason = "UnsupportedRelease"
	// MissingConfigLabels: no base configuration is known for the image.
	MissingConfigLabels Reason = "MissingConfigLabels"
	// InvalidConfigLabels: the labels of the image cannot be used.
	InvalidConfigLabels Reason = "InvalidConfigLabels"
	// ReadingImageLabels: the registry is being asked for the labels of the image.
	ReadingImageLabels Reason = "ReadingImageLabels"
	// RegistryUnavailable: the registry of the image does not answer, or sends what is damaged.
	RegistryUnavailable Reason = "RegistryUnavailable"
	// RegistryUnauthorized: the registry refuses the credentials.
	RegistryUnauthorized Reason = "RegistryUnauthorized"
	// RegistryForbidden: the operator may not ask the registry.
	RegistryForbidden Reason = "RegistryForbidden"
	// ImageNotFound: the registry has no such image.
	ImageNotFound Reason = "ImageNotFound"
	// InvalidImage: what the registry has is not an image for the nodes.
	InvalidImage Reason = "InvalidImage"
	// InvalidBaseConfig: the base configuration cannot be used.
	InvalidBaseConfig Reason = "InvalidBaseConfig"
	// InvalidOperatorSettings: the operator's settings cannot be used.
	InvalidOperatorSettings Reason = "InvalidOperatorSettings"
)

// Reasons about objects that the spec refers to.
const (
	// InvalidOverrideConfig: the configuration of spec.overrideConfig cannot be used.
	InvalidOverrideConfig Reason = "InvalidOverrideConfig"
	// ForeignNamespace: a ConfigMap of another namespace may not be used.
	ForeignNamespace Reason = "ForeignNamespace"
	// ConfigMapNotShared: a ConfigMap of another namespace does not exist, or its owner does not share it.
	ConfigMapNotShared Reason = "ConfigMapNotShared"
	// ConfigMapNotFound: a ConfigMap or its key does not exist.
	ConfigMapNotFound Reason = "ConfigMapNotFound"
	// SecretNotFound: a Secret or its key does not exist.
	SecretNotFound Reason = "SecretNotFound"
	// SecretInvalid: the value of a Secret cannot be used.
	SecretInvalid Reason = "SecretInvalid"
	// InvalidCertificate: clients would reject the server's certificate. A warning where it is for the exposed hostname.
	InvalidCertificate Reason = "InvalidCertificate"
	// InvalidCABundle: a CA bundle cannot be used.
	InvalidCABundle Reason = "InvalidCABundle"
	// EdgeUnavailable: the cluster lacks the API by which servers shall be exposed.
	EdgeUnavailable Reason = "EdgeUnavailable"
	// LookupFailed: something could not be read.
	LookupFailed Reason = "LookupFailed"
)

// Reasons about what the operator writes.
const (
	// Conflict: an object of this name belongs to someone else.
	Conflict Reason = "Conflict"
	// WaitingForRemoval: an object of a deleted custom resource is being removed.
	WaitingForRemoval Reason = "WaitingForRemoval"
	// ApplyFailed: the API server did not take an object.
	ApplyFailed Reason = "ApplyFailed"
	// ObjectRejected: the API server calls an object invalid.
	ObjectRejected Reason = "ObjectRejected"
	// ClaimNotResizable: a PersistentVolumeClaim cannot get the size that the spec asks for.
	ClaimNotResizable Reason = "ClaimNotResizable"
	// InternalError: the operator has a bug.
	InternalError Reason = "InternalError"
	// Interrupted: the work ended before it was complete.
	Interrupted Reason = "Interrupted"
)

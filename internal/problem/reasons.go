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
	// InvalidField: the value of a field, or the name of the custom resource, has the wrong type, form or range, or the
	// value is not one of those that the field takes. For the kubectl plugin: a document that cannot be read as an object
	// of this API.
	InvalidField Reason = "InvalidField"
	// MissingField: a required field is absent. A warning where only some uses need it.
	MissingField Reason = "MissingField"
	// UnknownField: there is no such field.
	UnknownField Reason = "UnknownField"
	// ConflictingFields: two places of the spec set the same thing, or register it twice.
	ConflictingFields Reason = "ConflictingFields"
	// NoEffect: a field is set and does nothing. A warning.
	NoEffect Reason = "NoEffect"
	// HostnameNotUnique: what exposes the server has no host name, or an older custom resource uses the same one. A
	// warning.
	HostnameNotUnique Reason = "HostnameNotUnique"
	// Unprotected: anyone who reaches the server may call it, or perhaps may, or can read what its callers send. A
	// warning.
	Unprotected Reason = "Unprotected"
	// TooLarge: the spec, what it refers to, or what is made of it, is larger than a limit.
	TooLarge Reason = "TooLarge"
	// MoreProblems: there may be more problems than are shown.
	MoreProblems Reason = "MoreProblems"
	// ForbiddenBySettings: the operator's settings or flags forbid what the spec asks for: a field, a registry or another
	// namespace.
	ForbiddenBySettings Reason = "ForbiddenBySettings"
	// UnsupportedByOperator: this operator cannot do what the spec asks for.
	UnsupportedByOperator Reason = "UnsupportedByOperator"
	// UnsupportedByRelease: the release line of the server cannot do what the spec asks for.
	UnsupportedByRelease Reason = "UnsupportedByRelease"
	// ReviewConversion: what to look at in a custom resource of v1alpha1: fields that were lost, or that v1alpha2 says in
	// another way. A warning.
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
	// UnknownServerLine: nothing says which release line the server has. A warning where it is newer than all that the
	// operator knows.
	UnknownServerLine Reason = "UnknownServerLine"
	// UnsupportedRelease: the server is older than every supported release line.
	UnsupportedRelease Reason = "UnsupportedRelease"
	// MissingConfigLabels: no base configuration is known for the image.
	MissingConfigLabels Reason = "MissingConfigLabels"
	// ReadingImageLabels: the registry is being asked for the labels of the image.
	ReadingImageLabels Reason = "ReadingImageLabels"
	// RegistryUnavailable: the registry of the image does not answer, or sends what is damaged.
	RegistryUnavailable Reason = "RegistryUnavailable"
	// ImageNotAccessible: the registry has no such image, or refuses the credentials.
	ImageNotAccessible Reason = "ImageNotAccessible"
	// InvalidImage: what the registry has is not an image for the nodes, or its labels cannot be used.
	InvalidImage Reason = "InvalidImage"
	// InvalidBaseConfig: the base configuration cannot be used.
	InvalidBaseConfig Reason = "InvalidBaseConfig"
	// InvalidOperatorSettings: the operator's settings cannot be used.
	InvalidOperatorSettings Reason = "InvalidOperatorSettings"
)

// Reasons about objects that the spec refers to.
const (
	// InvalidConfigMap: the configuration or the CA bundle in a ConfigMap cannot be used.
	InvalidConfigMap Reason = "InvalidConfigMap"
	// ConfigMapNotFound: a ConfigMap or its key does not exist, or its owner does not share it with this namespace.
	ConfigMapNotFound Reason = "ConfigMapNotFound"
	// SecretNotFound: a Secret or its key does not exist.
	SecretNotFound Reason = "SecretNotFound"
	// InvalidSecret: a value or a certificate in a Secret cannot be used.
	InvalidSecret Reason = "InvalidSecret"
	// DependencyNotReady: the cluster lacks the API by which servers shall be exposed, or what endpointFrom refers to has
	// no address.
	DependencyNotReady Reason = "DependencyNotReady"
	// LookupFailed: something could not be read, or the work ended before it was complete.
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
	// ObjectRejected: the API server calls an object or its change invalid.
	ObjectRejected Reason = "ObjectRejected"
	// InternalError: the operator has a bug.
	InternalError Reason = "InternalError"
)
